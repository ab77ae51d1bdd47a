"""Cuts and calibrated probabilities beside the truth, on simulated rows.

    python tools/thresholds.py             prints the table of docs/thresholds.md
    python tools/thresholds.py --write     writes it into the page, and draws its figure (needs matplotlib)

Two Gaussian clouds in 4 columns, and 4 columns of noise. 30 % of 2,000 unlabelled rows are positive, and 300 positives
are labelled. What a cut gives is counted on 20,000 new rows.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np

from distpu import BaggingPU
from distpu.threshold import Curve, calibration_error, cross_calibrated, reliability

PAGE = Path(__file__).parents[1] / "docs/thresholds.md"
LABELLED, UNLABELLED, NEW, SHARE, DISTANCE = 300, 2000, 20_000, 0.3, 1.2
CHOICES = ("auto", "prior", "half", "precision=0.8", "recall=0.8", "cost=5", "rows=100")


def draw(random: np.random.Generator, rows: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    y = random.random(rows) < share
    x = random.normal(size=(rows, 8))
    x[:, :4] += DISTANCE * y[:, None]
    return x, y


def fitted(calibrate: bool = True) -> tuple[BaggingPU, np.ndarray, np.ndarray]:
    """A method fitted with the true prior, and new rows with their truth."""
    random = np.random.default_rng(0)
    labelled, _ = draw(random, LABELLED, 1.0)
    unlabelled, y = draw(random, UNLABELLED, SHARE)
    s = np.repeat([1, 0], [LABELLED, UNLABELLED])
    model = BaggingPU(prior=float(y.mean()), calibrate=calibrate, random_state=0)
    return model.fit(np.concatenate([labelled, unlabelled]), s), *draw(random, NEW, SHARE)


def table(model: BaggingPU, x: np.ndarray, y: np.ndarray) -> str:
    lines = ["| threshold | rows called, in 2,000 | truth | precision | truth | recall | truth |", "|---" * 7 + "|"]
    score = model._raw_scores(x)
    for choice in CHOICES:
        called = model.set_threshold(choice)._judged(score)[0] >= 0
        found = model.expected_
        right, share = (y[called].mean() if called.any() else 0.0), y[called].sum() / y.sum()
        cells = [f"{found.rows:.0f} ± {found.rows.error:.0f}", f"{called.mean() * UNLABELLED:.0f}"]
        cells += [f"{found.precision:.2f} ± {found.precision.error:.2f}", f"{right:.2f}"]
        cells += [f"{found.recall:.2f} ± {found.recall.error:.2f}", f"{share:.2f}"]
        lines.append(f"| `{choice}` | {' | '.join(cells)} |")
    model.set_threshold("auto")
    return "\n".join(lines) + "\n"


def errors(model: BaggingPU, plain: BaggingPU, x: np.ndarray, y: np.ndarray) -> str:
    """The calibration errors before and after, and what held-out PU rows say of it without a true label."""
    before, after = (calibration_error(one.predict_proba(x)[:, 1], y) for one in (plain, model))
    tables = (model.cut_.held_out.labelled, model.cut_.held_out.unlabelled)
    z_p, z_u = (np.repeat(one.z, -np.diff([*one.above, 0])) for one in tables)
    found = reliability(*cross_calibrated(z_p, z_u, model.prior_), model.prior_)
    return (
        f"The calibration error on the new rows is {before:.3f} before and {after:.3f} after. The reliability without "
        f"negatives is {found:.3f} ± {found.error:.3f}.\n"
    )


def figure(model: BaggingPU, plain: BaggingPU, x: np.ndarray, y: np.ndarray) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    drawn, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    left.plot([0, 1], [0, 1], color="0.8")
    for one, colour, label in ((plain, "C3", "before"), (model, "C0", "calibrated")):
        p = one.predict_proba(x)[:, 1]
        bins = np.array_split(np.argsort(p), 10)
        left.plot([p[b].mean() for b in bins], [y[b].mean() for b in bins], "o-", color=colour, label=label)
    left.set(xlabel="mean probability of ten bins", ylabel="share of positives", title="what a probability means")
    left.legend(frameon=False)

    curve, table = Curve.of(model.cut_.held_out, model.cut_.calibration), model.cut_.held_out.unlabelled
    z = model._calibrated_on(model._raw_scores(x))
    cuts = np.array([table.below(i) for i in range(0, len(table.z), max(1, len(table.z) // 200))])
    called = [z >= cut for cut in cuts]
    rows = [UNLABELLED * c.mean() for c in called]
    for name, values, colour in (("precision", curve.precision, "C0"), ("recall", curve.recall, "C1")):
        right.plot(curve.rows, values, color=colour, label=f"{name}, expected")
        below = [max(1, c.sum()) if name == "precision" else y.sum() for c in called]
        true = [y[c].sum() / n for c, n in zip(called, below, strict=True)]
        right.plot(rows, true, color=colour, ls=":", label=f"{name}, truth")
    right.set(xlabel="rows called, in 2,000", title="what a cut gives", ylim=(0, 1.03), xlim=(20, UNLABELLED))
    right.legend(frameon=False)
    drawn.savefig(PAGE.with_suffix(".png"), dpi=120, metadata={"Software": None})


def main() -> None:
    model, x, y = fitted()
    plain = fitted(calibrate=False)[0]
    found, said = table(model, x, y), errors(model, plain, x, y)
    print(f"{found}\n{said}")
    if "--write" in sys.argv:
        text = re.sub(r"\| threshold \| rows called.*?\n(?!\|)", lambda _: found, PAGE.read_text(), flags=re.DOTALL)
        PAGE.write_text(
            re.sub(r"The calibration error on the new rows is .*?\.\n(?=\n)", lambda _: said, text, flags=re.DOTALL)
        )
        figure(model, plain, x, y)


if __name__ == "__main__":
    main()
