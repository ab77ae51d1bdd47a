"""What the commands do and print. Results go to stdout, progress and warnings to stderr."""

from __future__ import annotations

import shutil
import sys
import textwrap
import zlib
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import fields
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from .. import datasets
from ..files import atomic
from ..files.out import check_out, write_out
from ..files.run_folder import RunFolder, log_lines
from ..methods import METHODS
from ..metrics import METRICS
from ..params import near, paper_value
from ..progress import watched
from ..saved import load
from ..study import experiment as experiments
from ..study import runs as bench
from ..study import tables

# ---------------------------------------------------------------------- fit


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
    bench.make(method, {"prior": 0.5 if prior == "true" else prior, **settings})  # a mistake shows before data is read
    bench.settings_for(method, name, 0, preset)
    data = datasets.load(name, root)
    chosen = bench.settings_for(method, name, len(data.y), preset)
    settings = {**chosen, **settings}
    before = RunFolder(folder).finished
    result = bench.simulate(
        method, data, folder, labelled=labelled, scenario=scenario, prior=prior, seed=seed, settings=settings
    )
    _print_results({method: [result]})
    _print(f"metrics in percent, on {len(data.y_test)} test rows, whose labels were used for this table alone")
    again = " (finished before, not trained again)" if before else ""
    print(f"run folder: {folder}{again}")
    _say_settings(method, chosen)
    print(f"score the test rows:  distpu predict {folder} {name}")


def check_file(path: str) -> None:
    """A path that is not there may be a misspelt file or a misspelt data set."""
    if not Path(path).expanduser().exists() and not Path(path).suffix:
        hint = near(path.lower(), datasets.NAMES)
        raise ValueError(f"{path!r} is neither a file nor a data set{hint} (distpu data lists the data sets)")


def _say_settings(method: str, settings: dict[str, Any]) -> None:
    if settings:
        shown = ", ".join(f"{k}={v}" for k, v in settings.items())
        _print(f"preset for such data, other than {method}'s defaults: {shown}  (--preset paper for the defaults)")


def fit_file(
    path: str,
    label: str | None,
    positive: str | None,
    method: str,
    folder: Path,
    preset: str,
    settings: dict[str, Any],
) -> None:
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
    _print_table(["row", "probability of being positive"], [(str(row), f"{p:.3f}") for row, p in result["top"]])
    print(f"\nall {unlabelled}, likeliest first: {RunFolder(folder).ranked}  (row 0 is the first row of data)")
    _print(
        f"next: look at the rows on top; mark those that are positive in {label!r} as such and fit again, "
        f"with a --folder of its own"
    )
    _say_settings(method, chosen)
    print(f"score new rows:  distpu predict {folder} FILE")


def _read_own(path: str, label: str | None) -> tuple[Any, np.ndarray, str]:
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


def _positive_value(y: np.ndarray, label: str, text: Any) -> Any:
    """The value that marks known positives; None where 0/1, -1/1, true/false or blanks leave no doubt.

    The library takes the second of two strange values with a warning; a command must be told.
    """
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


def _missing(y: np.ndarray) -> np.ndarray:
    import pandas as pd

    return pd.isna(y)


# ------------------------------------------------------------------ predict


def predict(folder: Path, data: str, path: Path | None, root: Path | None) -> None:
    classifier = load(folder)
    if path is not None:
        check_out(path, data)  # a mistake shows before the rows are scored
    if data in datasets.NAMES:
        X: Any = datasets.load(data, root).x_test
    else:
        check_file(data)
        names = getattr(classifier, "feature_names_in_", None)
        X, _ = datasets.read(data, columns=None if names is None else list(names))
    p = classifier.predict_proba(X)[:, 1]
    scores = bench.scores_csv(np.arange(len(p)), p)
    if path is None:
        sys.stdout.write(scores)
        return
    plain = write_out(path, scores.encode(), data)
    said = sys.stdout if plain else sys.stderr  # the scores themselves may go to standard output
    print(f"{len(p)} rows scored, {int((p >= 0.5).sum())} predicted positive: {path}", file=said)


# --------------------------------------------------------------------- demo


def demo(folder: Path, seeds: int, prior: str | float, fresh: bool) -> None:
    from ..report import plots

    runs = {method: [folder / f"{method}-seed{seed}" for seed in range(seeds)] for method in bench.DEMO}
    data = datasets.load("digits")
    _print(
        f"Digits, even against odd: {len(data.y)} training rows, of which {data.labelled} even ones are labelled and "
        f"all others are not; {len(data.y_test)} test rows."
    )
    groups: dict[str, list[bench.Result]] = {}
    for method, places in runs.items():
        for seed, place in enumerate(places):
            if fresh and RunFolder(place).exists:
                shutil.rmtree(place)
            settings = bench.settings_for(method, data.name, len(data.y))
            result = bench.simulate(method, data, place, prior=prior, seed=seed, settings=settings)
            groups.setdefault(method, []).append(result)
        accuracy = _mean([r["accuracy"] for r in groups[method]], 100, 2)
        print(f"{method}: test accuracy {accuracy} %", file=sys.stderr)
    print()
    _print_results(groups)
    _print("metrics in percent, on the test rows; no odd digit was ever labelled")
    print(f"\npicture: {plots.demo([places[0] for places in runs.values()], folder / 'demo.png')}")
    _print(f"run folders: {folder}/*-seed*  (finished ones are kept; --fresh trains again)")
    print("your own table:  distpu fit table.csv --label COLUMN")


def _print_results(groups: dict[str, list[bench.Result]]) -> None:
    """A column per method: the six test metrics in percent, the true prior and the one used, seconds per run."""
    rows = [(name, *(_mean([r[name] for r in results], 100, 2) for results in groups.values())) for name in METRICS]
    for title, key, digits in (("true prior", "true_prior", 3), ("prior used", "prior", 3), ("seconds", "seconds", 1)):
        rows.append((title, *(_mean([r[key] for r in results], 1, digits) for results in groups.values())))
    _print_table(["", *groups], rows, right=range(1, len(groups) + 1))


def _mean(values: list[float | None], scale: int, digits: int) -> str:
    known = [scale * v for v in values if v is not None]
    if not known:
        return "-"
    mean = f"{np.mean(known):.{digits}f}"
    return mean if len(known) == 1 else f"{mean} ± {np.std(known, ddof=1):.{digits}f}"


# ------------------------------------------------------------------ compare


def compare(
    name: str,
    root: Path | None,
    methods: str,
    seeds: int,
    folder: Path,
    labelled: int | None,
    scenario: str,
    prior: str | float,
    preset: str,
    jobs: int | None,
) -> None:
    chosen = list(METHODS) if methods == "all" else list(dict.fromkeys(m.strip() for m in methods.split(",")))
    for method in chosen:
        bench.make(method, {})
    data = datasets.load(name, root)  # fetched once, before several processes want it
    protocol = {"labelled": labelled, "scenario": scenario, "prior": prior}
    tasks = [
        bench.Task(m, name, str(root) if root else None, folder / f"{m}-seed{seed}", seed, protocol, settings)
        for m, settings in ((m, bench.settings_for(m, name, len(data.y), preset)) for m in chosen)
        for seed in range(seeds)
    ]
    jobs = min(len(tasks), jobs or bench.side_by_side([data]))
    groups: dict[str, list[bench.Result]] = {method: [] for method in chosen}
    failed: list[str] = []
    with closing(bench.compare(tasks, jobs)) as ended:
        for number, (task, result) in enumerate(watched(ended, "comparing", len(tasks)) if jobs > 1 else ended, 1):
            what = result if isinstance(result, str) else f"accuracy {100 * result['accuracy']:.2f} %"
            print(f"{number}/{len(tasks)} {task.method} seed {task.seed}: {what}", file=sys.stderr)
            if isinstance(result, str):
                failed.append(f"{task.method}, seed {task.seed}: {result}")
            else:
                groups[task.method].append(result)
    groups = {method: sorted(results, key=lambda r: r["seed"]) for method, results in groups.items() if results}
    print()
    _print_comparison(groups)
    if groups:
        _write_comparison(folder, groups)
        over = f"mean ± deviation over {seeds} seeds" if seeds > 1 else "one seed"
        print()
        _print(f"{over}, in percent, on the test rows; all six metrics: {folder}/table.md")
    if failed:
        raise ValueError(f"{len(failed)} of {len(tasks)} runs failed: {'; '.join(failed)}")


def _comparison_rows(groups: dict[str, list[bench.Result]], columns: Sequence[str]) -> list[tuple[str, ...]]:
    def cell(results: list[bench.Result], key: str) -> str:
        scale, digits = (100, 2) if key in METRICS else (1, 1 if key == "seconds" else 3)
        return _mean([r[key] for r in results], scale, digits)

    return [(method, *(cell(results, key) for key in columns)) for method, results in groups.items()]


def _print_comparison(groups: dict[str, list[bench.Result]]) -> None:
    columns = ("accuracy", "f1", "auc", "seconds")
    _print_table(["method", *columns], _comparison_rows(groups, columns), right=range(1, 5))


def _write_comparison(folder: Path, groups: dict[str, list[bench.Result]]) -> None:
    """table.md for reading, runs.jsonl for everything else."""
    columns = (*METRICS, "prior", "seconds")
    text = tables.markdown_table(["method", *columns], _comparison_rows(groups, columns))
    atomic.write(folder / "table.md", text.encode())
    rows = [result for results in groups.values() for result in results]
    atomic.write(folder / "runs.jsonl", log_lines(rows).encode())


# ---------------------------------------------------------------- reproduce


def reproduce(
    name: str | None,
    only: str | None,
    seeds: int | None,
    jobs: int | None,
    root: Path | None,
    results: Path,
    runs: Path,
    fresh: bool,
    show: bool,
) -> None:
    from ..study import reproduce as made

    if fresh and show:
        raise ValueError("--fresh makes runs and --show makes none; give one of them")
    if name is None:
        _print_table(["name", "runs done", "what it is"], made.overview(results))
        print("\nmake what is missing, and write its table or figure:  distpu reproduce NAME")
        return
    whole = experiments.read(name)
    part, place = whole.chosen(only, seeds), results
    failed: list[str] = []
    if show:
        _print_experiment(part, made.show(whole, results))
    elif fresh:
        again = runs / "fresh" / f"{whole.name}-{zlib.crc32(repr((only, seeds)).encode()):08x}"
        unfinished = again / "unfinished"  # a command that was stopped goes on
        if not unfinished.exists():
            shutil.rmtree(again, ignore_errors=True)
        again.mkdir(parents=True, exist_ok=True)
        unfinished.touch()
        place = again / "results"
        lines, failed = made.reproduce(whole, part, jobs, root, place, again)
        unfinished.unlink()
        _print_experiment(part, lines, "made now")
        kept = experiments.of_seeds(part, experiments.known_lines(part, results))
        if kept:
            _print_experiment(part, kept, f"kept in {results / part.name}")
    else:
        lines, failed = made.reproduce(whole, part, jobs, root, results, runs, partial(_print_so_far, part))
        _print_experiment(part, lines)
    print(f"\ntables, figures and all metrics: {place / part.name}/README.md")
    if failed:
        raise ValueError(f"not all runs could be made: {'; '.join(failed)}")


def _print_so_far(part: experiments.Experiment, lines: list[experiments.Line]) -> None:
    cells = {cell.key for cell in part.cells}
    if any(experiments.cell_of(line) in cells for line in experiments.of_seeds(part, lines)):
        _print_experiment(part, lines, "so far")
        print(flush=True)


def _print_experiment(part: experiments.Experiment, lines: list[experiments.Line], which: str = "") -> None:
    note, lines = f", {which}" if which else "", experiments.of_seeds(part, lines)
    for dataset in tables.datasets(part):
        title = tables.DATASETS.get(dataset, dataset)
        if part.show == "search":
            rows = tables.found_by_search(part, lines, dataset)
            print(f"\n{title}: on held-out PU rows, in percent{note}")
            order = itemgetter(0, 2, 3, 4, 1)  # the variant, which may be long, last; no settings
            _print_table(order(tables.SEARCH_HEAD), map(order, rows))
            continue
        head, rows = tables.beside_briefly(part, lines, dataset)
        print(f"\n{title}: test metrics in percent, last epoch, mean ± deviation{note}")
        _print_table(head, rows, right=range(1, len(head)))
        if any(cell.endswith("*") for row in rows for cell in row):
            print("* more than two standard errors from the paper's")
    if part.show != "search" and (few := tables.few_seeds(part, lines)):
        print(few)


# --------------------------------------------------------- methods and data


def methods(name: str | None) -> None:
    if name is not None:
        return _method(name)
    rows = [
        (key, "needed" if cls.needs_prior else "no", f"{_first_line(cls)}\n{cls.paper}") for key, cls in METHODS.items()
    ]
    _print_table(["name", "prior", "what it is"], rows)
    print("\na method's equations and settings:  distpu methods NAME")


def _first_line(cls: type) -> str:
    return (cls.__doc__ or "").strip().splitlines()[0]


def _method(name: str) -> None:
    cls = type(bench.make(name, {}))
    print(f"{name}   in Python: from distpu import {cls.__name__}\n")
    _print((sys.modules[cls.__module__].__doc__ or "").strip())
    print()
    words = {"above": "above {}", "least": "at least {}", "most": "at most {}", "below": "below {}"}
    rows = []
    for f in fields(cls):
        rules = [text.format(f.metadata[key]) for key, text in words.items() if key in f.metadata]
        rules += [", ".join(map(str, f.metadata.get("one_of", ())))]
        rule = " and ".join(filter(None, rules))
        rows.append((f.name, str(paper_value(f)), f.metadata["help"] + (f"  ({rule})" if rule else "")))
    _print_table(["setting", "default", "what it is"], rows)
    print(f"\ndistpu fit table.csv --label COLUMN --method {name}")


def data(root: Path | None) -> None:
    rows = []
    for info in datasets.catalog(root):
        shape, numbers = "x".join(map(str, info.shape)), (str(info.train), str(info.test))
        rows.append((info.name, *numbers, shape, str(info.labelled), info.positive, info.where))
    _print_table(["name", "train", "test", "a row", "labelled", "positive", "where"], rows, right=(1, 2, 4))


# ----------------------------------------------------------------- printing


def _width() -> int:
    return shutil.get_terminal_size().columns  # 80 where there is no terminal


def _print(text: str) -> None:
    """Prose filled to the width of the terminal; indented or aligned lines, such as equations, stay lines."""
    lines = []
    for block in text.split("\n\n"):
        prose = not block.startswith(" ") and "   " not in block
        for line in [" ".join(block.splitlines())] if prose else block.splitlines():
            margin = "" if prose else " " * (len(line) - len(line.lstrip()) + 4)
            lines.append(textwrap.fill(line, _width(), subsequent_indent=margin, break_long_words=False))
        lines.append("")
    print("\n".join(lines[:-1]))


def _print_table(header: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> None:
    """Nothing is cut off: columns are as wide as their cells; only the last one is wrapped, or put on the next line."""
    lines, last = [header, *rows], len(header) - 1
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    start = sum(widths[:last]) + 2 * last
    room = _width() - start
    for *cells, text in lines:
        left = [c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(cells, widths, strict=False))]
        text = text.rjust(widths[last]) if last in right else text
        below = room < min(30, len(text))
        parts = _wrapped(text, _width() - 4 if below else room)
        print("  ".join([*left, "" if below else parts.pop(0)]).rstrip())
        for part in parts:
            print(" " * (4 if below else start) + part)


def _wrapped(text: str, width: int) -> list[str]:
    fill = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)  # a path stays in one piece
    return [piece for part in text.splitlines() for piece in fill.wrap(part)] or [""]
