"""Several ranks train with the loss and the gradient of one process. The ranks are processes of on_ranks.py."""

import os
import signal

import pytest
import torch

import on_ranks
from distpu.files.lock import lock
from distpu.files.run_folder import RunFolder

RELATIVE = 2e-5  # rounding of float32, which grows from step to step; the largest found was 4e-6


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    base = tmp_path_factory.getbasetemp()
    place = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "ranks"
    place.mkdir(exist_ok=True)
    return place


@pytest.fixture(scope="session")
def ended(folder):
    """Of each launch, the ranks' exit codes and what they wrote to stderr. All workers of pytest share one launch."""
    with lock(folder, wait=True):
        return on_ranks.launched(folder)


@pytest.fixture(scope="session")
def found(folder, ended):
    """What 3 ranks and 2 ranks gave, by their number."""
    codes, errors = ended["check"]
    assert not any(codes), "\n".join(errors)
    return {size: torch.load(folder / f"{size}.pt", weights_only=False) for size in on_ranks.SIZES}


def apart(a, b):
    return float((a - b).norm() / b.norm().clamp(min=1e-3))


@pytest.mark.parametrize("case", on_ranks.CASES)
def test_loss_and_gradient_of_every_step_are_those_of_one_process(case, found):
    model, steps = on_ranks.fitted(case)
    assert steps
    for size in on_ranks.SIZES:
        if case not in on_ranks.cases(size):
            continue
        weights, theirs, prior, threshold = found[size][case]
        assert len(theirs) == len(steps)
        for (terms, slope), (their_terms, their_slope) in zip(steps, theirs, strict=True):
            assert apart(their_terms, terms) < RELATIVE
            assert apart(their_slope, slope) < RELATIVE
        for name, weight in model.model_.state_dict().items():
            assert apart(weights[name].double(), weight.double()) < 10 * RELATIVE, name
        assert (prior, threshold) == pytest.approx((model.prior_, model.threshold_), rel=1e-3, nan_ok=True)
        assert found[size]["alike"][case]


@pytest.mark.parametrize("size", on_ranks.SIZES)
def test_without_a_seed_all_ranks_take_the_first_ones(size, found):
    assert found[size]["alike"]["no seed"]


@pytest.mark.parametrize("size", on_ranks.SIZES)
def test_a_rank_passes_its_share_of_the_rows(size, found):
    share, rows = found[size]["passed"]
    assert share == rows // size  # of rank 0


@pytest.mark.parametrize("size", on_ranks.SIZES)
def test_plain_averaging_optimises_another_loss(size, found):
    (value, slope), (ours, our_slope), (plain, plain_slope) = (
        found[size]["plain"][how] for how in ("one", "ours", "plain")
    )
    assert apart(ours, value) < 1e-6 and apart(our_slope, slope) < 1e-5
    assert apart(plain, value) > 1e-2 and apart(plain_slope, slope) > 0.1


def test_what_is_refused_is_said_in_one_line(found):
    for size in on_ranks.SIZES:
        told = found[size]["refused"]
        assert "rank 1 has other rows, labels, settings or versions than rank 0" in told["other rows"]
        assert "rank 1 has other rows, labels, settings or versions than rank 0" in told["other settings"]
        assert "the network draws random numbers (rand_like)" in told["draws"]
        assert "compile=True is for one rank" in told["compile"]
        assert "elkan-noto trains no network, so one process is enough" in told["a table"]
        assert told["alone"] == 1
        assert not any("\n" in str(line) for line in told.values())


def test_killed_on_3_ranks_and_resumed_on_2(folder, ended, tmp_path):
    codes, errors = ended["killed"]
    assert codes == [-signal.SIGKILL, 1, 1]  # no rank waits for the one that was killed
    assert all("the connection to the other ranks was lost" in told for told in errors[1:]), errors
    assert ended["resumed"][0] == [0, 0], ended["resumed"][1]
    run, whole = RunFolder(folder / "run"), on_ranks.fit(tmp_path / "whole")
    log = run.log()
    assert 0 < ended["logged"] < len(log) == whole.n_iter_ and run.finished
    for row, one in zip(log, whole.history_, strict=True):
        assert row["lab"] == pytest.approx(one["lab"], rel=1e-3)
    for name, weight in whole.model_.state_dict().items():
        assert apart(run.weights()[name].double(), weight.double()) < 1e-3, name
