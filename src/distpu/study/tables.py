"""Lines of runs into tables: Markdown, CSV and LaTeX, with the published values, the difference and its meaning."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..metrics import METRICS
from .experiment import KEEPS, Cell, Experiment
from .ledger import Line

HEADS = {"accuracy": "ACC", "precision": "Prec.", "recall": "Rec.", "f1": "F1", "auc": "AUC", "ap": "AP"}
DATASETS = {"fashion-mnist": "F-MNIST", "cifar-10": "CIFAR-10", "alzheimer": "Alzheimer", "digits": "digits"}
SEARCH_HEAD = ["method", "variant", "PU accuracy", "PU AUC", "seeds", "settings"]
PUBLISHED_SEEDS = 5
LATEX = str.maketrans(
    {letter: f"\\{letter}" for letter in "_%&#${}"}
    | {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}
    | {letter: f"${letter}$" for letter in "<>|"}
)


@dataclass(frozen=True)
class Figure:
    """A metric over seeds, in percent."""

    values: dict[int, float]  # by seed

    @property
    def mean(self) -> float:
        return float(np.mean([*self.values.values()]))

    @property
    def deviation(self) -> float:
        return float(np.std([*self.values.values()], ddof=1)) if len(self.values) > 1 else math.nan

    def __str__(self) -> str:
        return f"{self.mean:.2f}" + (f" ± {self.deviation:.2f}" if len(self.values) > 1 else "")


def figure(lines: list[Line], cell: Cell, metric: str, keep: str = "last") -> Figure | None:
    """A cell's metric; None where it has no line."""
    own = [line for line in lines if line.key in cell.keys and line.keep == keep]
    return Figure({line.seed: 100 * line.metrics[metric] for line in own}) if own else None


def versus(ours: Figure, published: list[float]) -> tuple[float, bool | None]:
    """(difference, whether it lies within two standard errors). One seed has no error: None."""
    mean, deviation = published
    difference = ours.mean - mean
    if len(ours.values) < 2:
        return difference, None
    error = math.sqrt(ours.deviation**2 / len(ours.values) + deviation**2 / PUBLISHED_SEEDS)
    return difference, abs(difference) <= 2 * error


def mark(ours: Figure | None, other: Figure | None) -> str:
    """✓ where ours is significantly better than the other, ✗ where worse: paired t-test over the seeds, 95 %."""
    from scipy.stats import ttest_rel

    seeds = sorted(set(ours.values) & set(other.values)) if ours and other else []
    if len(seeds) < 2 or ours is None or other is None:
        return ""
    a, b = ([f.values[seed] for seed in seeds] for f in (ours, other))
    difference = np.subtract(a, b)
    if np.ptp(difference) == 0:  # the test divides by its deviation
        return "" if difference[0] == 0 else "✓" if difference[0] > 0 else "✗"
    if ttest_rel(a, b).pvalue >= 0.05:
        return ""
    return "✓" if difference.mean() > 0 else "✗"


def best(figures: list[Figure | None]) -> tuple[set[int], set[int]]:
    """Places of the best and of the second best. A single figure is not the best of anything: none."""
    means = [round(f.mean, 2) if f else -math.inf for f in figures]
    if sum(f is not None for f in figures) < 2:
        return set(), set()
    order = sorted({m for m in means if m > -math.inf}, reverse=True)
    first, second = (order + [math.nan, math.nan])[:2]
    return {i for i, m in enumerate(means) if m == first}, {i for i, m in enumerate(means) if m == second}


def name_of(cell: Cell) -> str:
    """Label and variant. A label that begins with the variant stands alone, as in "VIII lab+ent+mix"."""
    return cell.label if cell.label.startswith(cell.variant) else f"{cell.label} {cell.variant}"


def row_of(experiment: Experiment, lines: list[Line], cell: Cell) -> str:
    """The name of a row, and on how many seeds it stands where some are missing."""
    found = figure(lines, cell, "accuracy")
    if found is None or len(found.values) >= len(experiment.seeds):
        return name_of(cell)
    return f"{name_of(cell)} ({len(found.values)})"


def few_seeds(experiment: Experiment, lines: list[Line]) -> str:
    """What the number behind a name means; empty where no name has one."""
    rows = [row_of(experiment, lines, cell) != name_of(cell) for cell in experiment.cells]
    return f"(n): on n of {len(experiment.seeds)} seeds so far" if any(rows) else ""


# --------------------------------------------------------------------- writing


STYLES = {  # best, second best; and what some signs are there
    "markdown": ("**{}**", "_{}_", {}),
    "latex": (r"\textbf{{{}}}", r"\underline{{{}}}", {"±": r"$\pm$", "✓": r"$\checkmark$", "✗": r"$\times$"}),
}


def grid(experiment: Experiment, lines: list[Line], dataset: str, style: str) -> list[list[str]]:
    """The paper's table of a data set: mean (deviation), best and second best, and where Dist-PU is better or worse."""
    cells = [cell for cell in experiment.cells if cell.dataset == dataset]
    against = next((cell for cell in cells if cell.method == experiment.options.get("against")), None)
    bold, italic, signs = STYLES[style]
    columns = []
    for metric in METRICS:
        figures = [figure(lines, cell, metric) for cell in cells]
        first, second = best(figures)
        column = []
        for place, (cell, found) in enumerate(zip(cells, figures, strict=True)):
            text = "-"
            if found:
                wrap = bold if place in first else italic if place in second else "{}"
                text = wrap.format(found)
                if against is not None and cell is not against:
                    text = f"{text} {mark(figure(lines, against, metric), found)}".strip()
            for sign, there in signs.items():
                text = text.replace(sign, there)
            column.append(text)
        columns.append(column)
    names = [row_of(experiment, lines, cell) for cell in cells]
    return [[name, *row] for name, row in zip(names, zip(*columns, strict=True), strict=True)]


def found_by_search(experiment: Experiment, lines: list[Line], dataset: str) -> list[list[str]]:
    """Settings of each method, the best first: PU accuracy and PU AUC over the seeds."""
    rows = []
    for cell in experiment.cells:
        found = figure(lines, cell, "pu_accuracy")
        if cell.dataset == dataset and found:
            reading = {"reading": cell.reading} if cell.reading else {}
            told = ", ".join(f"{key}={value}" for key, value in (cell.settings | reading).items()) or "the defaults"
            rows.append((cell.method, -found.mean, [cell.method, cell.variant or "-", str(found),
                        str(figure(lines, cell, "pu_auc")), str(len(found.values)), told]))  # fmt: skip
    return [row for *_, row in sorted(rows, key=lambda row: row[:2])]


def search_markdown(experiment: Experiment, lines: list[Line]) -> str:
    parts = []
    for dataset in datasets(experiment):
        parts.append(f"### {DATASETS.get(dataset, dataset)}\n")
        parts.append(markdown_table(SEARCH_HEAD, found_by_search(experiment, lines, dataset)))
    return "\n".join(parts)


def datasets(experiment: Experiment) -> list[str]:
    return list(dict.fromkeys(cell.dataset for cell in experiment.cells))


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines, bar = [head, ["---"] * len(head), *rows], r"\|"
    return "".join(f"| {' | '.join(cell.replace('|', bar) for cell in line)} |\n" for line in lines)


def table_markdown(experiment: Experiment, lines: list[Line]) -> str:
    head = ["", *HEADS.values()]
    parts = []
    for dataset in datasets(experiment):
        parts.append(f"### {DATASETS.get(dataset, dataset)}\n")
        made = any(line.dataset == dataset for line in lines)
        parts.append(markdown_table(head, grid(experiment, lines, dataset, "markdown")) if made else "No runs yet.\n")
    return "\n".join(parts)


def table_latex(experiment: Experiment, lines: list[Line]) -> str:
    text = ["\\begin{tabular}{ll" + "r" * len(METRICS) + "}", "\\hline"]
    text.append(" & ".join(["data", "method", *HEADS.values()]) + r" \\")
    for dataset in datasets(experiment):
        text.append("\\hline")
        for name, *values in grid(experiment, lines, dataset, "latex"):
            names = [word.translate(LATEX) for word in (DATASETS.get(dataset, dataset), name)]
            text.append(" & ".join([*names, *values]) + r" \\")
    return "\n".join([*text, "\\hline", "\\end{tabular}", ""])


def table_csv(experiment: Experiment, lines: list[Line]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["dataset", "method", "variant", "keep", "metric", "mean", "deviation", "seeds", "published_mean",
                     "published_deviation", "difference", "within_two_standard_errors"])  # fmt: skip
    for cell in experiment.cells:
        for keep in KEEPS:
            for metric in METRICS:
                found = figure(lines, cell, metric, keep)
                if found is None:
                    continue
                published = cell.published.get(metric) if keep != "oracle" else None
                difference, within = versus(found, published) if published else (None, None)
                row = [cell.dataset, cell.method, cell.variant, keep, metric, f"{found.mean:.4f}"]
                row += [
                    "" if math.isnan(found.deviation) else f"{found.deviation:.4f}",
                    str(len(found.values)),
                    *(map(str, published) if published else ("", "")),
                ]
                row += ["" if difference is None else f"{difference:.4f}", "" if within is None else str(within)]
                writer.writerow(row)
    return out.getvalue()


def as_published(published: list[float] | None) -> str:
    return "{:.2f} ± {:.2f}".format(*published) if published else "-"


def difference(ours: Figure | None, published: list[float] | None, star: str) -> str:
    """Signed, with a star where the paper's value lies beyond two standard errors; empty where one is missing."""
    if ours is None or published is None:
        return ""
    value, within = versus(ours, published)
    return f"{round(value, 2) + 0.0:+.2f}{star if within is False else ''}"  # + 0.0: no -0.00


def beside_briefly(experiment: Experiment, lines: list[Line], dataset: str) -> tuple[list[str], list[list[str]]]:
    """Head and rows for a terminal of 80 columns: accuracy and AUC, beside the paper's where it has them."""
    cells = [cell for cell in experiment.cells if cell.dataset == dataset]
    told = any(cell.published for cell in cells)
    head, rows = [""], []
    for metric in ("accuracy", "auc"):
        head += [f"{HEADS[metric]}, ours", *(["paper", "diff."] if told else [])]
    for cell in cells:
        row = [row_of(experiment, lines, cell)]
        for metric in ("accuracy", "auc"):
            found, published = figure(lines, cell, metric), cell.published.get(metric)
            row.append(str(found or "-").replace(" ", ""))
            if told:
                row += [as_published(published).replace(" ", ""), difference(found, published, "*")]
        rows.append(row)
    return head, rows


def beside_published(experiment: Experiment, lines: list[Line], dataset: str) -> str:
    """All metrics of the paper, and our difference from each."""
    rows = []
    for cell in experiment.cells:
        if cell.dataset == dataset and cell.published:
            row = [name_of(cell)]
            for metric in METRICS:
                published = cell.published.get(metric)
                less = difference(figure(lines, cell, metric), published, "†")
                row.append(f"{as_published(published)} ({less})" if less else as_published(published))
            rows.append(row)
    return markdown_table(["", *HEADS.values()], rows) if rows else ""


def by_keep(experiment: Experiment, lines: list[Line], dataset: str) -> str:
    """The last epoch beside what other choices of the epoch would have given."""
    cells = [cell for cell in experiment.cells if cell.dataset == dataset]
    rows = []
    for cell in cells:
        found = [figure(lines, cell, "accuracy", keep) for keep in KEEPS]
        if any(found[1:]):
            rows.append([name_of(cell), *(str(f) if f else "-" for f in found)])
    return markdown_table(["", *KEEPS.values()], rows) if rows else ""
