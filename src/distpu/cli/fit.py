"""`distpu fit`: train on a file of the user's own, or on a data set by name."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._options import Data, DataRoot, Label, Labelled, Positive, Preset, Prior, Threshold, read_prior, read_settings
from ._print import fill, print_results, print_table, say_settings

if TYPE_CHECKING:
    from ..answer import Answer


def fit(
    data: Data,
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="The method (distpu methods); 'auto' takes blend-pu for a table, dist-pu for images."
        ),
    ] = "auto",
    label: Label = None,
    positive: Positive = None,
    labelled: Labelled = None,
    prior: Prior = None,
    threshold: Threshold = None,
    scenario: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Named data sets: labelled rows stay among the unlabelled (case-control, "
            "the paper's protocol) or are taken out (single-set).",
        ),
    ] = "case-control",
    seed: Annotated[
        int, typer.Option(metavar="S", min=0, help="Seed of the draw of labelled rows and of training.")
    ] = 0,
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Run folder, else runs/DATA-METHOD-seedS. A killed run goes on there; a finished one is kept.",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="A setting of the method (distpu methods NAME); repeatable."),
    ] = None,
    preset: Preset = "auto",
    data_root: DataRoot = None,
) -> None:
    """Train on your own file, or on a data set by name.

    A table whose column 'fraud' is 1 for known cases and 0 or empty elsewhere; all other columns are numbers:

        distpu fit transactions.csv --label fraud

    A column that says 'yes' for known cases:

        distpu fit customers.parquet --label bought --positive yes

    Call as many rows positive as can be called with nine in ten of them right:

        distpu fit transactions.csv --label fraud --threshold precision=0.9

    The paper's Fashion-MNIST protocol, with the settings searched for it:

        distpu fit fashion-mnist --labelled 500
    """
    values = read_settings(settings)
    if threshold is not None:
        values["threshold"] = threshold

    from .. import datasets
    from ..answer import fit_file
    from ..methods import method_class

    if data in datasets.NAMES:
        if label is not None or positive is not None:
            raise ValueError(f"--label and --positive are for files; {data} is a data set whose labels are known")
        method = suited_to(data, data_root) if method == "auto" else method
        folder = folder or Path("runs") / f"{data}-{method}-seed{seed}"
        _fit_named(data, data_root, method, folder, labelled, scenario, read_prior(prior, "true"), seed, preset, values)
        return
    check_file(data)
    if labelled is not None or scenario != "case-control":
        raise ValueError("--labelled and --scenario are for named data sets; in a file the label column says it all")
    if prior == "true":
        raise ValueError("--prior true is for named data sets, whose labels are known; give a number or 'auto'")
    folder = folder or Path("runs") / f"{Path(data).stem}-{method}-seed{seed}"
    if preset != "auto":
        if not method_class(method).trains_network:
            raise ValueError(f"{method} has no presets; leave --preset out")
        values = {"preset": preset, **values}
    values = {"prior": read_prior(prior, "auto"), "random_state": seed, **values}
    _print_answer(fit_file(data, label, positive=positive, method=method, folder=folder, **values))


def suited_to(name: str, root: Path | None) -> str:
    """The method for a data set by name."""
    from .. import datasets
    from ..methods.auto import suited

    return suited(datasets.load(name, root).x)


def _fit_named(
    name: str,
    root: Path | None,
    method: str,
    folder: Path,
    labelled: int | None,
    scenario: str,
    prior: str | float,
    seed: int,
    preset: str,
    settings: dict[str, Any],
) -> None:
    from .. import datasets
    from ..files.run_folder import RunFolder
    from ..study import runs as bench

    bench.make(method, {"prior": 0.5 if prior == "true" else prior, **settings})  # a mistake shows before data is read
    bench.settings_for(method, name, 0, preset)
    data = datasets.load(name, root)
    chosen = bench.settings_for(method, name, len(data.y), preset)
    settings = {**chosen, **settings}
    before = RunFolder(folder).finished
    result = bench.simulate(
        method, data, folder, labelled=labelled, scenario=scenario, prior=prior, seed=seed, settings=settings
    )
    print_results({method: [result]})
    fill(f"metrics in percent, on {len(data.y_test)} test rows, whose labels were used for this table alone")
    again = " (finished before, not trained again)" if before else ""
    print(f"run folder: {folder}{again}")
    if chosen:
        fill(f"settings of the preset, with those that you gave: {', '.join(f'{k}={v}' for k, v in settings.items())}")
    print(f"score the test rows:  distpu predict {folder} {name}")


def _print_answer(answer: Answer) -> None:
    from ..files.run_folder import RunFolder

    unlabelled, folder = answer.unlabelled, answer.folder
    how = "finished before, not trained again" if answer.finished_before else f"trained in {answer.seconds:.1f} s"
    print(f"{answer.labelled} labelled positives, {unlabelled} unlabelled rows; {answer.model.name}, {how}")
    if math.isfinite(answer.prior):
        fill(f"positives hidden among the unlabelled rows: {_known_prior(answer)}")
    print(f"predicted positive: {answer.predicted} of {unlabelled} unlabelled rows")
    if answer.model.expected_ is not None:
        fill(f"by held-out rows: {answer.model.expected_.of_the_cut}")
    print()
    top = answer.ranked.head(10)
    rows = [(str(row), f"{p:.3f}") for row, p in zip(top["row"], top["probability"], strict=True)]
    print_table(["row", "probability of being positive"], rows)
    print(f"\nall {unlabelled}, likeliest first: {folder}/{RunFolder.RANKED}  (row 0 is the first row of data)")
    fill(
        f"next: look at the rows on top; mark those that are positive in {answer.label!r} as such and fit again, "
        f"with a --folder of its own"
    )
    say_settings(answer.model)
    print(f"score new rows:  distpu predict {folder} FILE")


def _known_prior(answer: Answer) -> str:
    """The share and the number of hidden positives, where the share is from, and its interval."""
    rows, found = answer.unlabelled, answer.model.prior_estimate_
    own = "the method's own estimate" if answer.estimated else "given"
    how = own if found is None else f"estimated by {found.name}"
    share = f"{answer.prior:.1%} ({how}), about {answer.hidden:.0f} rows"
    if found is None or found.interval is None or found.level is None:
        return share
    low, high = found.interval
    span = f"{low:.1%} to {high:.1%}, {low * rows:.0f} to {high * rows:.0f} rows"
    if found.two_sided is False:
        span = f"at most {high:.1%}, {high * rows:.0f} rows"
    return f"{share}; {100 * found.level:g} % interval: {span}. {found.reading}".rstrip()


def check_file(path: str) -> None:
    """A path that is not there may be a misspelt file or a misspelt data set."""
    from .. import datasets
    from ..params import near

    if not Path(path).expanduser().exists() and not Path(path).suffix:
        hint = near(path.lower(), datasets.NAMES)
        raise ValueError(f"{path!r} is neither a file nor a data set{hint} (distpu data lists the data sets)")
