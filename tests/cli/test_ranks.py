"""`torchrun -m distpu fit`: the first rank prints and writes, and a mistake of any rank ends all."""

import csv
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from terminal import done

pytestmark = pytest.mark.slow

FIT = ("fit", "table.csv", "--label", "fraud", "--method", "dist-pu")
FIT = (*FIT, "--set", "epochs=2", "--set", "warm_up_epochs=2")
APART = """
import os, sys
if os.environ["RANK"] == "1":
    os.chdir("elsewhere")
from distpu.__main__ import main
sys.argv[1:] = {arguments}
main()
"""


def torchrun(*arguments, ranks=2, code=0):
    """Run on several ranks; return stdout and the lines of distpu on stderr. Nothing is left alive."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
    process = subprocess.Popen(
        [*command, *arguments],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, errors = process.communicate(timeout=200)
    finally:
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(process.pid, number)
            except ProcessLookupError:
                break
    assert bool(process.returncode) == bool(code), errors
    return out, [line for line in errors.splitlines() if line.startswith("distpu: ")]


def scores(folder):
    return {
        row["id"]: float(row["probability"]) for row in csv.DictReader((folder / "scores.csv").read_text().splitlines())
    }


def test_a_table_gives_the_answer_of_one_process(here):
    alone = done(*FIT, "--folder", "alone")
    out, said = torchrun("-m", "distpu", *FIT, "--folder", "together")
    assert not said
    assert out.splitlines()[0].split(", trained in")[0] == alone.splitlines()[0].split(", trained in")[0]
    assert len(out.splitlines()) == len(alone.splitlines())
    assert {p.name for p in (here / "together").iterdir()} == {p.name for p in (here / "alone").iterdir()}
    one, several = scores(here / "alone"), scores(here / "together")
    assert np.allclose([one[id] for id in sorted(one)], [several[id] for id in sorted(one)], atol=1e-3)
    again, _ = torchrun("-m", "distpu", *FIT, "--folder", "together", ranks=3)
    assert "finished before, not trained again" in again


def test_a_data_set_by_name(here):
    out, said = torchrun("-m", "distpu", "fit", "digits", "--method", "nnpu", "--set", "epochs=2", "--folder", "run")
    assert not said and out.count("accuracy") == 1
    assert (here / "run/result.json").exists()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((*FIT, "--set", "lr=x"), "lr='x' must be a finite number"),
        (("fit", "table.csv", "--label", "fraud"), "blend-pu trains no network, so one process is enough, but 2 were"),
        (("predict", "run", "table.csv"), "distpu predict shares no work between processes, so one process is enough"),
    ],
)
def test_a_mistake_is_one_line(here, arguments, line):
    out, said = torchrun("-m", "distpu", *arguments, code=2)
    assert not out and len(said) == 1 and said[0].startswith(f"distpu: {line}")


@pytest.mark.parametrize("elsewhere", [None, "table.csv"])
def test_a_mistake_of_one_rank_ends_all(here, elsewhere):
    """Rank 1 has no table, or another one."""
    (here / "elsewhere").mkdir()
    if elsewhere:
        (here / "elsewhere/table.csv").write_text((here / "table.csv").read_text().replace("0.", "1."))
    (here / "apart.py").write_text(APART.format(arguments=list(FIT)))
    out, said = torchrun("apart.py", code=2)
    assert not out and len(said) == 1
    wanted = "rank 1 has other rows, labels" if elsewhere else "rank 1: table.csv does not exist"
    assert said[0].startswith(f"distpu: {wanted}")
    assert not list((here / "runs").glob("*/done")) if (here / "runs").exists() else True
