"""Pools: the same results here and on Ray. One test starts Ray, which takes seconds; tests that kill nodes are slow."""

import pandas as pd
import pytest

from distpu import ElkanNoto, predict_file
from distpu.judge import compare_methods
from distpu.on_ray import Here, check_pool, joined
from distpu.study.experiment import Cell
from distpu.study.pool import Task, opened
from distpu.tune import tune_settings


def test_what_ray_makes_is_what_this_process_makes(toy, tmp_path, monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", "local")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")  # on loopback: a token would be written into the home folder
    X, s, _ = toy
    table = pd.DataFrame(X, columns=list("abcdef"))
    table.to_parquet(tmp_path / "new.parquet")
    ElkanNoto(random_state=0, folds=2).fit(table, s, folder=tmp_path / "run")
    made = {}
    with joined("the test") as cluster:  # all of them join this one
        assert cluster.slots() >= 1
        assert list(cluster.in_order(divmod, [(i, 3) for i in range(20)])) == [divmod(i, 3) for i in range(20)]
        with pytest.raises(ZeroDivisionError):
            list(cluster.in_order(divmod, [(1, 1), (1, 0)]))
        for pool in ("ray", "local"):
            tasks = [
                Task(Cell("elkan-noto", "digits", {"folds": 2}), seed, tmp_path / pool / f"{seed}") for seed in (0, 1)
            ]
            with opened(pool, 1 if pool == "local" else None, [], 2) as workers:
                ended = {task.seed: result.to_json() for task, result in workers.run(tasks)}
            told = tune_settings(X, s, "elkan-noto", trials=2, prior=0.4, k=2, settings={"folds": 2}, pool=pool).trials
            both = compare_methods(X, s, ["elkan-noto", "two-step"], prior=0.4, k=2, pool=pool)
            out = tmp_path / f"{pool}.csv"
            predict_file(tmp_path / "run", tmp_path / "new.parquet", out, rows_at_a_time=50, pool=pool)
            made[pool] = (
                [{**ended[seed], "seconds": 0} for seed in (0, 1)],
                [(one.settings, one.state, one.values, one.error) for one in told],
                [(one.method, one.pu_accuracy, one.error, one.pu_auc, one.called) for one in both],
                out.read_bytes(),
            )
    assert made["ray"] == made["local"]


def test_this_process_begins_a_task_when_its_result_is_wanted():
    begun = []
    results = Here().in_order(begun.append, [(1,), (2,)])
    next(results)
    assert begun == [1]


def test_a_pool_is_checked_by_name():
    with pytest.raises(ValueError, match="pool='rey' must be one of 'local', 'ray'; did you mean 'ray'?"):
        check_pool("rey")
