"""The pages of the searches have the numbers of the lines, and the picks of table 2."""

import re

import pytest

from distpu.study import experiment as experiments
from distpu.study import tables
from distpu.study.runs import resolved
from study.tiny import REPOSITORY, known

SEARCHES = REPOSITORY / "results/search"
# what table 2 has otherwise than the search that chose, by decree: PUSB's cut and VPU's X
DECREED = ("threshold_on", "population")


def rows(page):
    text = (SEARCHES / f"{page}.md").read_text()
    return [row.strip("| ").split(" | ") for row in text.splitlines() if re.match(r"\| (?!method|---)", row)]


def settings(cell):
    return {name: value for name, value in resolved(cell.make()).items() if name not in DECREED}


@pytest.mark.parametrize("page", ["alzheimer", "cifar-10", "fashion-mnist"])
def test_a_page_has_the_numbers_of_its_searches_and_the_picks_of_the_table(page):
    table = {cell.label: cell for cell in experiments.read("table-2").cells if cell.dataset == page}
    found, picked = {}, []
    for label, told, accuracy, auc, draws, link in rows(page):
        name = re.fullmatch(r"\[(.*)\]\(\1/README.md\)", link)[1]
        if name not in found:
            experiment = experiments.read(name)
            found[name] = experiment, known(experiment, REPOSITORY / "results")
        experiment, lines = found[name]
        short = told.strip("*")
        (cell,) = (
            cell
            for cell in experiment.cells
            if (cell.method, cell.dataset) == (table[label].method, page) and cell.variant.split(" (round")[0] == short
        )
        numbers = [tables.figure(lines, cell, metric) for metric in ("pu_accuracy", "pu_auc")]
        assert [accuracy, auc] == [str(number) for number in numbers], (label, told)
        assert int(draws) == len(numbers[0].values)
        if told.startswith("**"):
            picked.append(label)
            assert (cell.reading, settings(cell)) == (table[label].reading, settings(table[label])), (label, told)
    assert len(picked) == len(set(picked))
    assert set(picked) == {label for label, *_ in rows(page)}  # each method that was searched has a pick


def test_every_search_that_was_made_is_on_a_page():
    text = "".join((SEARCHES / f"{page}.md").read_text() for page in ("alzheimer", "cifar-10", "fashion-mnist"))
    made = {path.parent.name for path in SEARCHES.glob("*/runs.jsonl")}
    assert {name for name in made if f"[{name}]({name}/README.md)" not in text} == set()
