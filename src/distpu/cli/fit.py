"""`distpu fit`: train on a file of the user's own, or on a data set by name."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..train import launch
from ._early import check_file, check_options
from ._options import (
    Data,
    DataRoot,
    Drop,
    Found,
    Id,
    Keep,
    Label,
    Labelled,
    Looked,
    Negative,
    Positive,
    Preset,
    Prior,
    Sheet,
    Strict,
    Threshold,
    read_names,
    read_prior,
    read_settings,
)
from ._print import fill, print_results, print_rows, print_table, say_settings, visible

if TYPE_CHECKING:
    from ..answer import Answer

TOP = 10  # rows on the terminal
WHOLE = 60  # characters of an id: a path that is cut off cannot be opened


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
    negative: Negative = None,
    found: Found = None,
    looked: Looked = None,
    drop: Drop = None,
    keep: Keep = None,
    id: Id = None,
    sheet: Sheet = None,
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
    images: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="A table's column of paths of images: those are learnt.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A .npy or .npz file: a .npy file with one label per row.")
    ] = None,
    size: Annotated[
        int | None, typer.Option(metavar="N", help="Images: their side in pixels, else one that fits their own sizes.")
    ] = None,
    strict: Strict = False,
    report: Annotated[
        bool,
        typer.Option("--report/--no-report", help="Files: also write report.html, a page that explains the answer."),
    ] = True,
    data_root: DataRoot = None,
) -> None:
    """Train on your own table or images, or on a data set.

    A table whose column 'fraud' is 1 for known cases and 0 or empty elsewhere. The other columns may be numbers,
    categories, dates, texts, and may have blanks:

        distpu fit transactions.csv --label fraud

    A column that says 'yes' for known cases:

        distpu fit customers.parquet --label bought --positive yes

    Without two columns, with the rows named by a third:

        distpu fit transactions.csv --label fraud --drop agent,comment --id number

    The same after a look at some rows, with your verdicts in a file that distpu next wrote:

        distpu fit customers.parquet --label bought --positive yes --looked looked.csv --folder runs/second

    A folder of images, of which the known positives are in photos/positive and the others in photos/unlabeled:

        distpu fit photos

    Call as many rows positive as can be called with nine in ten of them right:

        distpu fit transactions.csv --label fraud --threshold precision=0.9

    The paper's Fashion-MNIST protocol, with the settings searched for it:

        distpu fit fashion-mnist --labelled 500
    """
    values = read_settings(settings)
    if threshold is not None:
        values["threshold"] = threshold

    from .. import datasets

    if data not in datasets.NAMES:
        check_file(data, label, needs_label=True)
        if method == "auto":
            from ..answer.pictures import method_for

            with datasets.of_sheet(sheet, data):
                method = method_for(data, label, images, bool(looked))
    if data not in datasets.NAMES or method != "auto":  # else the data choose the method
        check_options(method, values, prior)

    if data in datasets.NAMES:
        if any(told for told in (label, positive, negative, found, looked, drop, keep, id)):
            raise ValueError(
                "--label, --positive, --negative, --found, --looked, --drop, --keep and --id are for files; "
                f"the labels and columns of {data} are known"
            )
        method = suited_to(data, data_root) if method == "auto" else method
        folder = folder or Path("runs") / f"{data}-{method}-seed{seed}"
        _fit_named(data, data_root, method, folder, labelled, scenario, read_prior(prior, "true"), seed, preset, values)
        return
    if labelled is not None or scenario != "case-control":
        raise ValueError("--labelled and --scenario are for named data sets; in a file the label column says it all")
    if prior == "true":
        raise ValueError("--prior true is for named data sets, whose labels are known; give a number or 'auto'")
    folder = folder or Path("runs") / f"{Path(data).stem or Path(data).resolve().name}-{method}-seed{seed}"

    from ..answer import fit_file
    from ..methods import method_class

    if preset != "auto":
        if not method_class(method).trains_network:
            raise ValueError(f"{method} has no presets; leave --preset out")
        values = {"preset": preset, **values}
    values = {"prior": read_prior(prior, "auto"), "random_state": seed, **values}
    values |= {"images": images, "labels": labels, "size": size, "strict": strict, "report": report}
    values |= {"id": id, "sheet": sheet, "drop": read_names(drop), "keep": read_names(keep)}
    values |= {"positive": positive, "negative": negative, "found": found, "looked": looked or ()}
    print_answer(fit_file(data, label, method=method, folder=folder, **values))


def suited_to(name: str, root: Path | None) -> str:
    """The method for a data set by name; named images show Dist-PU."""
    from .. import datasets

    return "blend-pu" if datasets.load(name, root).x.ndim == 2 else "dist-pu"


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
    with TemporaryDirectory() as nowhere:  # only the first rank writes
        result = bench.simulate(
            method,
            data,
            folder if launch.first() else Path(nowhere),
            labelled=labelled,
            scenario=scenario,
            prior=prior,
            seed=seed,
            settings=settings,
        )
    print_results({method: [result]})
    fill(f"metrics in percent, on {len(data.y_test)} test rows, whose labels were used for this table alone")
    again = " (finished before, not trained again)" if before else ""
    print(f"run folder: {folder}{again}")
    if chosen:
        fill(f"settings of the preset, with those that you gave: {', '.join(f'{k}={v}' for k, v in settings.items())}")
    print(f"score the test rows:  distpu predict {shlex.quote(str(folder))} {name}")


def print_answer(answer: Answer) -> None:
    """Print what `distpu fit FILE` found."""
    from ..answer.words import columns_told, counts_explained, rows_to_look_at, what_next, with_verdicts
    from ..files.run_folder import RunFolder

    folder, what = answer.folder, answer.what
    how = "finished before, not trained again" if answer.finished_before else f"trained in {answer.seconds:.1f} s"
    looked = answer.negatives + answer.found
    seen = f", {looked:,} {what} looked at ({answer.found:,} found positive)" if looked else ""
    counts = f"{answer.labelled:,} labelled positives, {answer.unlabelled:,} unlabelled {what}{seen}"
    print(f"{answer.rows:,} {what}: {counts}; "
          f"{answer.model.name}, {how}\n")  # fmt: skip
    first, *others = _summary(answer)
    print_table(first, others)
    sample = "" if answer.sample is None else answer.sample.told
    for text in (counts_explained(answer), _reading(answer), visible(columns_told(answer), most=1000), sample):
        if text:
            print()
            fill(text)
    print()
    _print_top(answer)
    named = "" if answer.id is not None else "  (id 0 is the first row of data)"
    many = "all" if answer.sample is None else "the first"
    print(f"\n{many} {len(answer.ranked):,}, likeliest first: {folder}/{RunFolder.RANKED}{named}")
    if answer.sample is not None:
        print(f"all {answer.unlabelled:,}, in the order of the table: {folder}/{RunFolder.SCORED}")
    if answer.images is not None and answer.images.broken:
        fill(f"{answer.images.what_is_broken}; all of them: {folder}/{RunFolder.BROKEN}")
    if answer.facts is not None:
        for one in answer.facts["findings"]:
            if one["level"] in ("warning", "look"):
                told, remedy = visible(one["text"], 400), visible(one["remedy"] or "", 200)
                fill(f"check first, {one['name']}: {told} {remedy}".rstrip())
        print(f"the page that explains it: {folder}/{RunFolder.PAGE}")
    say_settings(answer.model)
    place = shlex.quote(str(folder))
    print(f"score new {what}:  distpu predict {place} {'FOLDER' if answer.source.is_dir() else 'FILE'}")
    if command := rows_to_look_at(answer):
        print(f"{what} most worth a look:  {command}")
        fill(f"next: look at them, {with_verdicts()}")
    else:
        fill(f"next: {what_next(answer)}")


def _summary(answer: Answer) -> list[tuple[str, str]]:
    """The numbers of an answer: what, and how many."""
    from ..answer.words import percent, where_the_cut_is

    lines, total, what = [], answer.unlabelled, answer.what
    if math.isfinite(answer.prior):
        hidden, share = f"about {answer.hidden:,.0f} of {total:,} unlabelled {what}", percent(answer.prior)
        found, span = answer.model.prior_estimate_, answer.hidden_interval
        if span is not None and found is not None and found.level is not None:
            low, high = (percent(end) for end in answer.model.prior_interval_ or ())
            level = f"{100 * found.level:g} % interval: "
            hidden += f" ({level}{span[0]:,.0f} to {span[1]:,.0f})"
            share += f" ({level}{low} to {high})"
        own = "the method's own estimate" if answer.estimated else "given"
        share += f", {own if found is None else f'estimated by {found.name}'}"
        lines += [("hidden positives", hidden), ("prior, their share", share)]
    lines.append(
        ("called positive", f"{answer.predicted:,} of {total:,} unlabelled {what}; cut: {where_the_cut_is(answer)}")
    )
    expected = answer.model.expected_
    if expected is not None:
        precision, recall, count = expected.precision, expected.recall, expected.rows
        lines += [
            ("  precision", f"{percent(precision)} ± {percent(precision.error)} of them should be positive"),
            ("  recall", f"{percent(recall)} ± {percent(recall.error)} of the hidden positives should be among them"),
        ]
        if abs(count - answer.predicted) > max(2 * count.error, 0.02 * total):  # the model knows its training rows
            lines.append(
                ("  new rows", f"{count:,.0f} ± {count.error:,.0f} should be called among {total:,} rows held out")
            )
    return lines


def _reading(answer: Answer) -> str:
    """Whether the prior's interval has two sides, and why."""
    found = answer.model.prior_estimate_
    return "" if found is None else found.reading


def _print_top(answer: Answer) -> None:
    """Print the ten likeliest rows with as many of their own columns as the terminal has room for."""
    top = answer.ranked.head(TOP)
    own = [] if answer.top is None else answer.top if answer.facts is None else answer.facts["top"]["columns"]
    more = [(name, list(answer.top[name].head(TOP))) for name in own] if answer.top is not None else []
    columns = [[visible(one, WHOLE) for one in top["id"]], [f"{p:.3f}" for p in top["probability"]]]
    print_rows([answer.id or "id", "probability"], columns, more)
