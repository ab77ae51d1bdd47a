"""What the table default is made of: its members, blends, priors, cuts and calibrations, on problems with known truth.

    DISTPU_TABLES=FOLDER DISTPU_DATA=FOLDER python tools/bench_blend.py score [forest,extra,...]     minutes, cached
    python tools/bench_blend.py compare                                                              seconds

`score` fits each member on each problem of tools/problems.py and keeps its out-of-fold scores and its scores of test
rows in the folder DISTPU_CACHE (default /tmp/score). A member is one of BlendPU's, or "module:Class" of your own.
`compare` blends the cached scores and compares choices. Test labels are read for the tables alone, and a choice is made
by the mean over all problems. Writes results/tables/blend.md.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from problems import Problem, problems
from scipy.special import expit
from sklearn.metrics import f1_score, roc_auc_score
from threadpoolctl import threadpool_limits

from distpu.datasets.draw import folds
from distpu.methods.blend_pu import BlendPU
from distpu.prior import ON_SCORES, inside_unit
from distpu.prior.binormal import credible, share_to_call
from distpu.prior.gap import shares_at_gap
from distpu.threshold import Calibration, calibration_error, cut_at

CACHE = Path(os.environ.get("DISTPU_CACHE", "/tmp/score"))
OUT = Path(__file__).parents[1] / "results/tables"
FOLDS = 5
MEMBERS = [*BlendPU()._members()]


def member_of(name: str) -> Any:
    """An unfitted member: of BlendPU, or 'module:Class'."""
    if ":" in name:
        module, kind = name.split(":")
        return getattr(importlib.import_module(module), kind)()
    return BlendPU()._members()[name]


def score(names: list[str]) -> None:
    for problem in problems(CACHE):
        for name in names:
            kept = CACHE / "scores" / name / f"{problem.name}.npz"
            if not kept.exists():
                kept.parent.mkdir(parents=True, exist_ok=True)
                z, zt, seconds = scored(problem, name)
                np.savez(kept, z=z, zt=zt, seconds=seconds)
                print(problem.name, name, f"{seconds:.1f} s", file=sys.stderr, flush=True)


def scored(problem: Problem, name: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Out-of-fold scores, scores of the test rows by each fold's model, CPU seconds."""
    x, s, start = problem.x, problem.s, time.process_time()
    fold, z, zt = folds(x, s, FOLDS, 0), np.empty(len(s)), []
    random = np.random.RandomState(0)
    with threadpool_limits(1):
        for k in range(FOLDS):
            member = member_of(name).fit(x[fold != k], s[fold != k], random)
            z[fold == k] = member.scores(x[fold == k])
            zt.append(member.scores(problem.xt))
    return z, np.array(zt), time.process_time() - start


class Blended:
    """Out-of-fold and test scores of a problem by some of the members, blended as BlendPU does."""

    def __init__(self, problem: Problem, names: list[str]) -> None:
        files = [np.load(CACHE / "scores" / name / f"{problem.name}.npz") for name in names]
        Z, Zt = (np.column_stack(parts) for parts in ([f["z"] for f in files], [f["zt"].mean(0) for f in files]))
        blend = BlendPU()
        blend._weigh(Z, problem.s)
        self.problem, self.seconds = problem, sum(float(f["seconds"]) for f in files)
        self.z, self.zt = (Z[:, 0], Zt[:, 0]) if len(names) == 1 else (blend._blended(Z), blend._blended(Zt))
        self.z_p, self.z_u = self.z[problem.s == 1], self.z[problem.s == 0]

    def called(self, share: float) -> dict[str, float]:
        """Accuracy and F1 on the test rows if this share of the unlabelled rows is called."""
        called, y = self.zt >= cut_at(self.z_u, share), self.problem.yt
        return {"accuracy": 100 * (called == y).mean(), "F1": 100 * f1_score(y, called, zero_division=0)}


def of_members(problem: Problem) -> dict[str, dict[str, float]]:
    sets = {name: [name] for name in MEMBERS}
    sets |= {f"blend without {name}": [m for m in MEMBERS if m != name] for name in MEMBERS} | {"blend": MEMBERS}
    found = {}
    for name, members in sets.items():
        b = Blended(problem, members)
        auc = 100 * roc_auc_score(problem.yt, b.zt)
        found[name] = {**b.called(problem.truth), "AUC": auc, "CPU seconds": b.seconds}
    return found


def of_priors(problem: Problem) -> dict[str, dict[str, float]]:
    b, found = Blended(problem, MEMBERS), {}
    for name, function in ON_SCORES.items():
        off = inside_unit(function(expit(b.z_p), expit(b.z_u)), problem.s) - problem.truth
        found[name] = {"error": abs(off), "bias": off}
    low, high = credible(b.z_p, b.z_u, 0.9)
    found["binormal"]["in the 90 % interval"] = float(low <= problem.truth <= high)
    gap = shares_at_gap(b.z_p, b.z_u, (low, high))
    off = found["binormal"]["bias"] if gap is None else gap[0] - problem.truth
    found["binormal, or a gap"] = {"error": abs(off), "bias": off}
    return found


def of_cuts(problem: Problem) -> dict[str, dict[str, float]]:
    """Cuts at the share that a rule calls; 'true prior' is known to no tool."""
    b = Blended(problem, MEMBERS)
    prior = inside_unit(ON_SCORES["binormal"](b.z_p, b.z_u), problem.s)
    p = Calibration.fit(b.z_p, b.z_u, prior)(b.z_u)
    shares = {"true prior": problem.truth, "estimated prior": prior, "probability of at least 1/2": (p >= 0.5).mean()}
    for weight in (0.0, 0.5, 1.0, 2.0):
        shares[f"largest E[accuracy] + {weight:g} E[F1]"] = share_to_call(b.z_p, b.z_u, weight)
    gap = shares_at_gap(b.z_p, b.z_u, credible(b.z_p, b.z_u, 0.9))
    usual = shares["largest E[accuracy] + 1 E[F1]"]
    shares["a gap, or largest E[accuracy] + 1 E[F1]"] = usual if gap is None else gap[1]
    return {name: b.called(float(np.clip(share, 1e-4, 1 - 1e-4))) for name, share in shares.items()}


def of_calibrations(problem: Problem) -> dict[str, dict[str, float]]:
    b, y = Blended(problem, MEMBERS), problem.y[problem.s == 0]
    estimated = inside_unit(ON_SCORES["binormal"](b.z_p, b.z_u), problem.s)
    maps = {"none": expit(b.z_u)}
    for name, prior in {"true prior": problem.truth, "estimated prior": estimated}.items():
        maps[name] = Calibration.fit(b.z_p, b.z_u, prior)(b.z_u)
    return {name: {"calibration error": calibration_error(p, y), "Brier score": ((p - y) ** 2).mean()}
            for name, p in maps.items()}  # fmt: skip


PARTS = {"Members, cut at the true prior": of_members, "Priors from the blend's scores": of_priors,
         "Cuts": of_cuts, "Calibration of the unlabelled rows": of_calibrations}  # fmt: skip


def compare() -> str:
    """Markdown: for each part the means over each group of problems, and over all but those that are nearly sure."""
    lines: dict[str, list[dict[str, Any]]] = {part: [] for part in PARTS}
    for problem in problems(CACHE):
        for part, function in PARTS.items():
            for name, values in function(problem).items():
                lines[part].append({"name": name, "group": problem.group, **values})
    count = pd.DataFrame(lines["Cuts"]).groupby("group")["name"].value_counts().groupby("group").max()
    told = ", ".join(f"{n} {group}" for group, n in count.items())
    text = ["# What the table default is made of", "", f"`tools/bench_blend.py compare`, after `score`. {told}.", ""]
    for part, of in lines.items():
        frame = pd.DataFrame(of)
        groups = [("all but sharp", frame[frame["group"] != "sharp"]), *frame.groupby("group")]
        means = {group: some.drop(columns="group").groupby("name", sort=False).mean() for group, some in groups}
        columns = [*means["all but sharp"].columns]
        text += [f"## {part}", "", f"| | {' | '.join(f'{c}, {g}' for c in columns for g in means)} |"]
        text.append("|---" * (1 + len(columns) * len(means)) + "|")
        for name in means["all but sharp"].index:
            cells = [_shown(c, means[g].loc[name, c]) for c in columns for g in means]
            text.append(f"| {name} | {' | '.join(cells)} |")
        text.append("")
    return "\n".join(text)


def _shown(column: str, value: float) -> str:
    if np.isnan(value):
        return "-"
    return f"{value:.2f}" if value > 1 else f"{value:+.3f}" if column == "bias" else f"{value:.4f}"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1] == "score":
        score(sys.argv[2].split(",") if len(sys.argv) > 2 else MEMBERS)
    else:
        (OUT / "blend.md").write_text(compare())
        print((OUT / "blend.md").read_text())
