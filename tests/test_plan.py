"""docs/plan-10-billion.md has the numbers of tools/plan.py, which follow from what was measured."""

import importlib.util
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).parents[1]


def _plan():
    spec = importlib.util.spec_from_file_location("plan", HOME / "tools/plan.py")
    made = importlib.util.module_from_spec(spec)
    sys.modules["plan"] = made
    spec.loader.exec_module(made)
    return made


plan = _plan()


def test_the_page_has_the_numbers_of_the_script():
    page = plan.PAGE.read_text()
    assert plan.filled(page, plan.Rates.measured()) == page, "run: python tools/plan.py --write"


def test_the_rates_are_those_of_the_lines_that_were_measured():
    lines = [
        dict(rows=10**5, cpu_seconds=30.0),
        dict(rows=10**6, cpu_seconds=40.0),
        dict(rows=10**7, cpu_seconds=130.0),
    ]
    assert plan.slope(lines) == pytest.approx(90 / 9e6)
    assert plan.slope(lines[:2]) == pytest.approx(10 / 9e5)


def test_an_epoch_is_its_steps_times_what_a_step_takes():
    rates = plan.Rates(epoch=1e-7, fit=1e-6, predict=1e-6)
    computes, waits = plan.step(rates, 1000)
    assert computes == pytest.approx(1e-4)
    assert waits == pytest.approx(3 * 50e-6 + 2 * 4 * 1409 * 63 / 64 / 25e9)
    assert plan.epoch(rates, 1000) == pytest.approx(156250 * (computes + waits))
    together = [line for line in plan.run(rates) if line[0] == "GPU-hours"]
    assert together[0][2] == f"{64 * (10**10 * 2e-6 / 1024 + 80 + 10 * plan.epoch(rates, 4096)) / 3600:,.0f}"


def test_other_rates_give_another_page():
    page = plan.PAGE.read_text()
    assert plan.filled(page, plan.Rates(1e-6, 1e-5, 1e-5)) != page
