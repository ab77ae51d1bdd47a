"""`predict --out X`: links are written through, pipes and devices written to, data and models never overwritten."""

import os
import shutil
import stat
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pytest

from distpu.files.out import check_out, write_out
from distpu.files.run_folder import RunFolder
from small import small
from terminal import done, refused


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    place = tmp_path_factory.mktemp("finished")
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 6)), columns=list("abcdef"))
    small("nnpu", prior=0.4, epochs=1, network="mlp").fit(X, np.arange(60) < 20, folder=place / "run")
    X[:3].to_csv(place / "new.csv", index=False)
    return place


def content(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir()}


def test_a_link_stays_and_its_file_is_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    real, link, second = tmp_path / "there/real.csv", tmp_path / "link.csv", tmp_path / "second.csv"
    real.write_text("old")
    real.chmod(0o600)
    link.symlink_to("there/real.csv")
    second.symlink_to(link)
    assert write_out(second, b"new")
    assert link.is_symlink() and second.is_symlink() and real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o600 and os.listdir(tmp_path / "there") == ["real.csv"]


def test_links_that_lead_nowhere(tmp_path):
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "new.csv")
    assert write_out(link, b"made") and link.is_symlink() and (tmp_path / "new.csv").read_text() == "made"
    link.unlink()
    link.symlink_to(tmp_path / "nowhere/new.csv")
    with pytest.raises(ValueError, match="link.csv is a link to .*, whose folder does not exist; name another file"):
        write_out(link, b"")
    link.unlink()
    link.symlink_to(link)
    with pytest.raises(ValueError, match="is a link that leads back to itself; name a file"):
        write_out(link, b"")
    assert not (tmp_path / "nowhere").exists()


def test_a_named_pipe_is_written_to(finished, tmp_path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    assert done("predict", finished / "run", finished / "new.csv", "--out", pipe) == ""
    reader.join(20)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert read == [done("predict", finished / "run", finished / "new.csv")]


def test_a_device_is_written_to_and_stays_a_device(finished, tmp_path):
    device = tmp_path / "null"  # a second node of /dev/null: a mistake here breaks no machine
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        device.write_bytes(b"")
    except OSError:
        pytest.skip("this user may not make or open a device")
    link = tmp_path / "link"
    link.symlink_to(device)
    for out in (device, link):
        done("predict", finished / "run", finished / "new.csv", "--out", out)
        assert stat.S_ISCHR(device.stat().st_mode) and link.is_symlink()


def test_a_device_that_is_full_is_one_line(finished):
    assert "No space left on device" in refused("predict", finished / "run", finished / "new.csv", "--out", "/dev/full")


CODE = """
import sys
from pathlib import Path
from distpu.files.out import write_out
sys.stdout.write("before,")
sys.stdout.flush()
print(write_out(Path(sys.argv[1]), b"scores,"))
"""


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link"])
@pytest.mark.parametrize("into", ["a pipe", "a file"])
def test_standard_output_by_name(name, into, tmp_path):
    (tmp_path / "link").symlink_to("/dev/stdout")
    with open(tmp_path / "out", "w+") as file:
        where = subprocess.PIPE if into == "a pipe" else file
        ended = subprocess.run([sys.executable, "-c", CODE, name], stdout=where, cwd=tmp_path, text=True, check=True)
        file.seek(0)
        assert (ended.stdout or file.read()) == "before,scores,False\n"
    assert os.path.realpath("/dev/stdout") and stat.S_ISLNK(os.lstat("/dev/stdout").st_mode)


@pytest.mark.parametrize("name", sorted({*RunFolder.NAMES, "stage-nnpu.safetensors"}))
def test_a_file_of_a_run_is_refused(name, finished, tmp_path):
    folder = shutil.copytree(finished / "run", tmp_path / "run")
    before = content(folder)
    (tmp_path / "link").symlink_to(folder / name)
    (tmp_path / "same").symlink_to(folder)
    for out in (folder / name, tmp_path / "link", tmp_path / "same" / name, folder / ".." / "run" / name):
        with pytest.raises(ValueError, match="is a file of the run in .*, which needs it; name another file"):
            write_out(out, b"scores")
    line = refused("predict", folder, finished / "new.csv", "--out", folder / name)
    assert f"{folder / name} is a file of the run in {folder}" in line
    assert content(folder) == before


def test_other_files_beside_a_run_are_written(finished, tmp_path):
    folder = shutil.copytree(finished / "run", tmp_path / "run")
    done("predict", folder, finished / "new.csv", "--out", folder / "new/scores.csv")
    done("predict", folder, finished / "new.csv", "--out", folder / "new-scores.csv")
    assert (folder / "new-scores.csv").read_text() == (folder / "new/scores.csv").read_text()


def test_the_data_and_folders_are_refused(tmp_path):
    data, link = tmp_path / "data.csv", tmp_path / "link.csv"
    data.write_text("precious")
    link.symlink_to(data)
    for out in (data, link):
        with pytest.raises(ValueError, match="would overwrite the data; name another file"):
            write_out(out, b"", data)
    with pytest.raises(ValueError, match="would overwrite the data"):
        write_out(data, b"", link)
    with pytest.raises(ValueError, match="is a folder; name a file"):
        check_out(tmp_path)
    with pytest.raises(ValueError, match="data.csv/new/x.csv cannot lie in .*data.csv, which is a file; name another"):
        check_out(data / "new/x.csv")
    assert data.read_text() == "precious"
