"""`distpu tune`: search a method's settings on a user's own file, without negatives."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._early import check_file, check_options
from ._options import (
    TABLES,
    Drop,
    Id,
    Keep,
    Label,
    Positive,
    Preset,
    Sheet,
    Where,
    check_where,
    columns_of,
    options_of,
    read_prior,
    read_settings,
)
from ._print import fill, print_table

if TYPE_CHECKING:
    from ..tune import Trial, Tuned


def tune(
    file: Annotated[str, typer.Argument(metavar="FILE", help=f"A table ({TABLES}), or a .npz file.")],
    method: Annotated[str, typer.Option(metavar="NAME", help="The method (distpu methods).")] = "bagging-pu",
    label: Label = None,
    positive: Positive = None,
    sheet: Sheet = None,
    drop: Drop = None,
    keep: Keep = None,
    id: Id = None,
    trials: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Settings to try, the default ones included; 30 if no time is given."),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(metavar="M", help="No trial begins after so many minutes, those before a kill included."),
    ] = None,
    metric: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What is searched for: pu_accuracy, pu_auc, pu_f1, or another metric of docs/evaluation.md.",
        ),
    ] = "pu_accuracy",
    prior: Annotated[
        str | None,
        typer.Option(metavar="P", help="Share of positives among the unlabelled rows: a number, or 'auto' (default)."),
    ] = None,
    folds: Annotated[int, typer.Option(metavar="K", min=2, help="Models that a trial trains.")] = 3,
    seed: Annotated[int, typer.Option(metavar="S", min=0, help="Seed of the folds, the trials and training.")] = 0,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="A setting that is fixed and not searched; repeatable."),
    ] = None,
    preset: Preset = "auto",
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where the trials go, else runs/FILE-METHOD-tune-seedS. A killed search goes on there, and a search "
            "with more trials or minutes too.",
        ),
    ] = None,
    pool: Where = "local",
    plot: Annotated[Path | None, typer.Option(metavar="PNG", help="Also draw the trials.")] = None,
) -> None:
    """Search the settings of a method on your own file. No true label is needed.

    Each trial is judged by a PU metric on rows that it did not see, as distpu compare judges methods. The default
    settings are always trial 0. At the end you are told whether the gain over them is larger than its standard error.

        distpu tune transactions.csv --label fraud --method bagging-pu --trials 30
    """
    from ..params import need

    check_where(pool)
    told = read_settings(settings)
    check_options(method, told, prior)
    check_file(file, label, needs_label=True)

    from ..answer import positive_value, read_own
    from ..methods import method_class
    from ..tune import tune_settings

    if preset != "auto":
        if not method_class(method).trains_network:
            raise ValueError(f"{method} has no presets; leave --preset out")
        told = {"preset": preset, **told}
    if prior == "true":
        raise ValueError("--prior true is for named data sets, whose labels are known; give a number or 'auto'")
    if plot is not None:
        need("matplotlib", "plots", "drawing")
    need("optuna", "tune", "tuning")
    X, y, column = read_own(file, label, sheet=sheet)
    X, encode = columns_of(X, file, id, drop, keep)
    found = tune_settings(
        X,
        y,
        method,
        trials=trials,
        minutes=minutes,
        metric=metric,
        prior=read_prior(prior, "auto"),
        settings=told if encode == "auto" else {**told, "encode": encode},
        pos_label=positive_value(y, column, positive),
        random_state=seed,
        k=folds,
        folder=folder or Path("runs") / f"{Path(file).stem}-{method}-tune-seed{seed}",
        report=_Lines(trials, minutes),
        pool=pool,
    )
    _print_tuned(found)
    if plot is not None:
        from ..report.tuning import draw

        draw(found.trials, found.best, found.importance, _named(found.metric), plot)
        print(f"picture: {plot}")
    options = options_of(
        label=label, positive=positive, id=id, sheet=sheet, drop=drop, keep=keep, method=method, prior=prior
    )
    words = [] if preset == "auto" else ["--preset", preset]
    fixed = {name: value for name, value in told.items() if name != "preset"}
    words += [word for name, value in {**fixed, **found.settings}.items() for word in ("--set", f"{name}={value}")]
    words += ["--seed", str(seed)] if seed else []
    print(f"next:  distpu fit {shlex.quote(file)}{options}" + (f" {shlex.join(words)}" if words else ""))


def _named(metric: str) -> str:
    return metric.replace("pu_", "PU ").replace("_", " ").replace("roc auc", "ROC AUC").replace(" auc", " AUC")


class _Lines:
    """Prints a line per trial on stderr, with the time that is left."""

    def __init__(self, trials: int | None, minutes: float | None):
        from ..tune import TRIALS

        self.trials, self.minutes = TRIALS if trials is None and minutes is None else trials, minutes
        self.start, self.seen = time.monotonic(), 0

    def __call__(self, trial: Trial, best: Trial) -> None:
        from ..tune import COMPLETE, FAILED

        self.seen += 1
        spent = time.monotonic() - self.start
        left = [60 * self.minutes - spent] if self.minutes else []
        left += [spent / self.seen * (self.trials - 1 - trial.number)] if self.trials else []
        what = f"{trial.value:.4f}" if trial.state != FAILED else trial.why
        after = f" after fold {len(trial.values)}" if trial.values else ""
        how = "" if trial.state == COMPLETE else f" ({trial.state}{after})"
        of = f", {trial.number + 1} of {self.trials}" if self.trials else ""
        rest = f"best {best.value:.4f} (trial {best.number}); about {max(0, min(left)):.0f} s left"
        print(f"trial {trial.number}{of}: {what}{how}; {rest}", file=sys.stderr)


def _print_tuned(found: Tuned) -> None:
    from ..tune import COMPLETE, FAILED, PRUNED

    def row(name: str, trial: Trial) -> tuple[str, ...]:
        return name, f"{trial.value:.4f} ± {trial.error:.4f}", f"{trial.seconds:.1f}", _settings(trial.settings)

    best, count = found.best, {state: 0 for state in (COMPLETE, PRUNED, FAILED)}
    for trial in found.trials:
        count[trial.state] += 1
    print()
    rows = [row("default", found.default)] + ([row(f"trial {best.number}", best)] if best.number else [])
    print_table(["", _named(found.metric), "seconds", "settings"], rows, right=(1, 2))
    print()
    fill(
        f"{len(found.trials)} trials: {count[COMPLETE]} judged on all folds, {count[PRUNED]} pruned, {count[FAILED]} "
        f"failed. The {_named(found.metric)} is that of held-out rows, estimated without a true label, at a prior of "
        f"{found.prior:.3g}; ± is its standard error."
    )
    fill(_verdict(found))
    if found.importance:
        shares = ", ".join(f"{name} {share:.0%}" for name, share in found.importance.items())
        fill(f"what explains the differences: {shares}")
    if found.folder:
        print(f"trials: {found.folder}")


def _verdict(found: Tuned) -> str:
    best = found.best
    if best.number == 0:
        return "no trial is better than the default settings: take the default."
    seen, gain = best.value - found.default.value, f"{found.gain:+.4f} ± {found.error:.4f}"
    paid = (
        f"trial {best.number} is {seen:.4f} better than the default on the rows that chose it. On other rows the "
        f"choice gains {gain}: a bootstrap makes the choice again and measures it on the rows left out."
    )
    if found.worth:
        return f"{paid} The gain is larger than its standard error: take these settings."
    return f"{paid} The gain is not larger than its standard error: take the default."


def _settings(settings: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in settings.items()) or "-"
