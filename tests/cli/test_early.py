"""A mistake is told before anything heavy is imported."""

import gzip
import json
import subprocess
import sys
from dataclasses import MISSING, fields
from pathlib import Path

import pandas as pd
import pytest

from distpu import METHODS
from distpu.cli._early import prior_names
from distpu.datasets.header import check_table, header
from distpu.methods import AUTO, check_told
from distpu.methods._source import settings_of
from distpu.methods.auto import AutoPU
from distpu.prior import PRIORS

MISTAKES = {  # the command, and a part of the one line that it must say
    "fit nofile.csv": "nofile.csv does not exist",
    "fit tabl.csv --label y": "did you mean 'table.csv'?",
    "fit table.csv": "needs a label column; add --label COLUMN",
    "fit table.csv --label fruad": "has no column 'fruad'; did you mean 'fraud'?",
    "fit table.parquet --label fruad": "has no column 'fruad'; did you mean 'fraud'?",
    "fit empty.csv --label y": "empty.csv is empty",
    "fit digit --label y": "did you mean 'digits'?",
    "fit table.csv --label fraud --method nnpuu": "did you mean 'nnpu'?",
    "fit table.csv --label fraud --prior 3": "--prior 3 must lie strictly between 0 and 1",
    "fit table.csv --label fraud --prior dedpull": "did you mean 'dedpul'?",
    "fit table.csv --label fraud --threshold precison=0.9": "did you mean 'precision'?",
    "fit table.csv --label fraud --method dist-pu --set epoch=3": "did you mean 'epochs'?",
    "fit table.csv --label fraud --method nnpu --set batch_size=1": "batch_size=1 must be at least 2",
    "fit table.csv --label fraud --method blend-pu --set trees=many": "trees='many' must be a whole number",
    "fit table.csv --label fraud --labelled 3": "--labelled and --scenario are for named data sets",
    "predict nofolder table.csv": "nofolder does not exist; name a run folder",
    "predict . table.csv": "is not a run folder",
    "predict unfinished table.csv": "unfinished is not finished",
    "prior nofile.csv": "nofile.csv does not exist",
    "prior table.csv --label fraud --estimators bbee": "did you mean 'bbe'?",
    "diagnose table.csv": "needs a label column",
    "compare nofile.csv": "nofile.csv does not exist",
    "compare table.csv --label fraud --methods nnpuu": "did you mean 'nnpu'?",
    "tune table.csv --label fruad": "did you mean 'fraud'?",
    "methods nnpuu": "did you mean 'nnpu'?",
    "next nofolder": "nofolder has no scores.csv",
    "report nofolder": "nofolder is no run folder",
    "show nofolder": "nofolder does not exist; name a run folder",
    "show unfinished": "unfinished is not finished",
    "export nofolder --onnx model.onnx": "nofolder does not exist; name a run folder",
    "serve nofolder": "nofolder does not exist; name a run folder",
    "serve unfinished --port 70000": "65535",
    "reproduce table-3x": "did you mean 'table-3'?",
}
CODE = """
import json, sys
from terminal import distpu
said = {line: list(distpu(*line.split())) for line in json.load(sys.stdin)}
heavy = {'torch', 'sklearn', 'pandas', 'scipy', 'matplotlib', 'lightgbm'} & set(sys.modules)
print(json.dumps([said, sorted(heavy)]))
"""


def test_a_mistake_is_told_before_anything_heavy_is_imported(here):
    pd.read_csv("table.csv").to_parquet("table.parquet")
    Path("empty.csv").touch()
    Path("unfinished").mkdir()
    Path("unfinished/config.json").write_text("{}")
    tests = Path(__file__).parents[1]
    run = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tests)!r})\n{CODE}"],
        input=json.dumps([*MISTAKES]),
        capture_output=True,
        text=True,
        check=True,
    )
    said, heavy = json.loads(run.stdout)
    for line, part in MISTAKES.items():
        code, out, err = said[line]
        assert (code, out, err.count("\n")) == (2, "", 1), (line, code, out, err)
        assert part in err, (line, err)
    assert heavy == []


@pytest.mark.parametrize("name", [*METHODS, "auto"])
def test_the_sources_tell_the_settings_of_a_method(name):
    cls = AutoPU if name == "auto" else METHODS[name]
    place = AUTO if name == "auto" else METHODS.place(name)
    told, true = settings_of(place), {f.name: f for f in fields(cls)}
    assert list(told) == list(true)
    assert sum(f is None for f in told.values()) < len(told) / 3  # nearly all can be read
    for key, found in told.items():
        if found is not None:
            assert found.default is not MISSING and found.default == true[key].default
            rules = {k: v for k, v in true[key].metadata.items() if k not in ("help", "search")}
            assert dict(found.metadata) == rules


def test_a_method_that_a_user_added_is_left_to_the_import(monkeypatch):
    class Own:
        pass

    monkeypatch.setattr("distpu.methods.METHODS", type(METHODS)({}))
    from distpu import methods

    methods.METHODS["own"] = Own
    check_told("own", {"anything": 1})
    with pytest.raises(ValueError, match="'owner' is not known; did you mean 'own'"):
        check_told("owner", {})


def test_the_source_tells_the_estimators_of_the_prior():
    assert prior_names() == list(PRIORS)


@pytest.mark.parametrize(
    "name, content",
    {
        "comma.csv": b"a,b,fraud\n1,2,1\n",
        "bom.csv": "\ufeffa;b;fraud\n1,5;2;1\n".encode(),
        "quoted.csv": b'"a, then\nb",b,"fraud"\n1,2,1\n',
        "latin.csv": "gr\xf6\xdfe,fraud\n1,1\n".encode("cp1252"),
        "wide.tsv": b"a\tb\tfraud\n1\t2\t1\n",
        "wide16.csv": "a\tfraud\n1\t1\n".encode("utf-16"),
        "packed.csv.gz": gzip.compress(b"a,b, fraud\n1,2,1\n", mtime=0),  # the same in every process
        "blank.csv": b"\n\na,fraud\n1,1\n",
        "unknown.npz": b"PK",
    }.items(),
)
def test_a_look_refuses_no_table_that_may_have_the_column(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    check_table(path, "fraud")
    if header(path) and path.suffix != ".npz":
        with pytest.raises(ValueError, match="has no column 'fruad'"):
            check_table(path, "fruad")


def test_a_damaged_file_is_left_to_the_reader(tmp_path):
    packed = bytearray(gzip.compress(b"a,b,fraud\n" + b"1,2,1\n" * 500, mtime=0))
    packed[14:18] = b"\xff\xff\xff\xff"  # the data are no longer packed data
    for name, content in {"cut.parquet": b"PAR1", "cut.csv.gz": b"PAR1", "flipped.csv.gz": bytes(packed)}.items():
        (tmp_path / name).write_bytes(content)
        assert header(tmp_path / name) == []
        check_table(tmp_path / name, "fraud")
