"""`distpu fit`: train on a file of the user's own, or on a data set by name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ._options import DataRoot, Preset, read_prior, read_settings
from ._print import fill, print_results, print_table, say_settings


def fit(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="A data set's name (distpu data) or a .csv, .parquet or .npz file.")
    ],
    method: Annotated[str, typer.Option(metavar="NAME", help="The method (distpu methods).")] = "dist-pu",
    label: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Files: the label column; 1 = known positive, 0 or empty = unlabelled."),
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(metavar="VALUE", help="Files: the label value of known positives, when it is not 1."),
    ] = None,
    labelled: Annotated[
        int | None, typer.Option(metavar="N", help="Named data sets: how many positives stay labelled.")
    ] = None,
    prior: Annotated[
        str | None,
        typer.Option(
            metavar="P",
            help="Share of positives among the unlabelled rows: a number, 'auto' "
            "(estimate it; default for files) or 'true' (named data sets only; their default).",
        ),
    ] = None,
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

    The paper's Fashion-MNIST protocol, with the settings searched for it:

        distpu fit fashion-mnist --labelled 500
    """
    values = read_settings(settings)

    from .. import datasets

    if data in datasets.NAMES:
        if label is not None or positive is not None:
            raise ValueError(f"--label and --positive are for files; {data} is a data set whose labels are known")
        folder = folder or Path("runs") / f"{data}-{method}-seed{seed}"
        fit_named(data, data_root, method, folder, labelled, scenario, read_prior(prior, "true"), seed, preset, values)
        return
    check_file(data)
    if labelled is not None or scenario != "case-control":
        raise ValueError("--labelled and --scenario are for named data sets; in a file the label column says it all")
    if prior == "true":
        raise ValueError("--prior true is for named data sets, whose labels are known; give a number or 'auto'")
    folder = folder or Path("runs") / f"{Path(data).stem}-{method}-seed{seed}"
    values = {"prior": read_prior(prior, "auto"), "random_state": seed, **values}
    fit_file(data, label, positive, method, folder, preset, values)


def fit_named(
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
    say_settings(method, chosen)
    print(f"score the test rows:  distpu predict {folder} {name}")


def fit_file(
    path: str,
    label: str | None,
    positive: str | None,
    method: str,
    folder: Path,
    preset: str,
    settings: dict[str, Any],
) -> None:
    import numpy as np

    from ..files.run_folder import RunFolder
    from ..study import runs as bench

    bench.make(method, settings)
    bench.settings_for(method, "", 0, preset)
    X, y, label = _read_own(path, label)
    chosen = bench.settings_for(method, "", len(y), preset)
    settings = {**chosen, **settings}
    positive = settings.get("pos_label") if positive is None else positive
    settings = {**settings, "pos_label": _positive_value(y, label, positive)}
    before = RunFolder(folder).finished
    result = bench.fit_table(X, y, method, folder, settings)
    unlabelled, share = result["unlabelled"], result["prior"]
    how = "finished before, not trained again" if before else f"trained in {result['seconds']:.1f} s"
    print(f"{result['labelled']} labelled positives, {unlabelled} unlabelled rows; {method}, {how}")
    if np.isfinite(share):
        known = "estimated" if settings["prior"] == "auto" else "given"
        print(f"positives hidden among the unlabelled rows: {share:.1%} ({known}), about {share * unlabelled:.0f} rows")
    print(f"predicted positive: {result['predicted']} of {unlabelled} unlabelled rows\n")
    print_table(["row", "probability of being positive"], [(str(row), f"{p:.3f}") for row, p in result["top"]])
    print(f"\nall {unlabelled}, likeliest first: {RunFolder(folder).ranked}  (row 0 is the first row of data)")
    fill(
        f"next: look at the rows on top; mark those that are positive in {label!r} as such and fit again, "
        f"with a --folder of its own"
    )
    say_settings(method, chosen)
    print(f"score new rows:  distpu predict {folder} FILE")


def _read_own(path: str, label: str | None) -> tuple[Any, Any, str]:
    from .. import datasets

    if label is None and Path(path).suffix != ".npz" and Path(path).expanduser().is_file():
        raise ValueError(
            f"{path} needs a label column; add --label COLUMN (1 = known positive, 0 or empty = unlabelled)"
        )
    X, y = datasets.read(path, label)
    if y is None:
        raise ValueError(
            f"{path} holds no labels; add an array 'y' (1 = known positive, 0 = unlabelled) or use --label"
        )
    return X, y, label or "y"


def _positive_value(y: Any, label: str, text: Any) -> Any:
    """The value that marks known positives; None where 0/1, -1/1, true/false or blanks leave no doubt.

    The library takes the second of two strange values with a warning; a command must be told.
    """
    from ..params import near

    present = y[~_missing(y)].ravel().tolist()
    values = sorted(set(present), key=lambda v: (str(type(v)), v))
    shown = " and ".join(map(repr, values)) if len(values) < 4 else f"{len(values)} values such as {values[0]!r}"
    if text is not None:
        spelt = {str(text), str(text).capitalize()}  # --positive true stands for True
        same = [v for v in values if v == text or str(v) in spelt or (isinstance(v, float) and f"{v:g}" in spelt)]
        if not same:
            hint = near(text, values)
            raise ValueError(f"--positive {text} is not in column {label!r}, which holds {shown or 'nothing'}{hint}")
        return same[0]
    if 1 < len(values) < 10 and values not in ([0, 1], [-1, 1]):  # False is 0, True is 1
        options = " or ".join(f"--positive {value}" for value in values[:2])
        raise ValueError(f"column {label!r} holds {shown}; say which one marks the known positives, such as {options}")
    return None


def _missing(y: Any) -> Any:
    import pandas as pd

    return pd.isna(y)


def check_file(path: str) -> None:
    """A path that is not there may be a misspelt file or a misspelt data set."""
    from .. import datasets
    from ..params import near

    if not Path(path).expanduser().exists() and not Path(path).suffix:
        hint = near(path.lower(), datasets.NAMES)
        raise ValueError(f"{path!r} is neither a file nor a data set{hint} (distpu data lists the data sets)")
