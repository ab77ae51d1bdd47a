"""Data sets: small files in the official layouts, a loopback server, and the real sets if there."""

import contextlib
import gzip
import hashlib
import io
import os
import pickle
import struct
import subprocess
import sys
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from distpu import datasets
from distpu.datasets import alzheimer as release
from distpu.datasets import download, fetch, known, places, readers

REAL = os.environ.get("DISTPU_DATA")  # before the fixture below hides it
FASHION = list(datasets.MD5["fashion-mnist"])
CIFAR = list(datasets.MD5["cifar-10"])


@pytest.fixture(autouse=True)
def a_machine_without_data(tmp_path, monkeypatch):
    monkeypatch.delenv("DISTPU_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(places, "SYSTEM", tmp_path / "system")
    monkeypatch.setattr(download, "PAUSES", (0, 0))
    for name in datasets.SOURCES:  # nothing here may reach the real servers
        monkeypatch.setitem(datasets.SOURCES, name, "http://127.0.0.1:9")


def message(kind, function, *args, **kwargs) -> str:
    """What the call says when it fails: always one line."""
    with pytest.raises(kind) as caught:
        function(*args, **kwargs)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# ---- small copies of the sets ----


def idx(array: np.ndarray) -> bytes:
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


@pytest.fixture
def fashion(monkeypatch):
    """The four idx files of a tiny Fashion-MNIST: 10 + 4 images, labels 0..9 and 6, 7, 8, 0."""
    rng = np.random.default_rng(0)
    x, x_test = (rng.integers(0, 256, (n, 28, 28), dtype=np.uint8) for n in (10, 4))
    y, y_test = np.arange(10, dtype=np.uint8), np.array([6, 7, 8, 0], np.uint8)
    files = {name: idx(array) for name, array in zip(FASHION, (x, y, x_test, y_test), strict=True)}
    md5 = {name: hashlib.md5(raw).hexdigest() for name, raw in files.items()}
    monkeypatch.setitem(datasets.MD5, "fashion-mnist", md5)
    return files


def write(folder: Path, files: dict[str, bytes], end: str = "", wrap=lambda raw: raw) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, raw in files.items():
        (folder / f"{name}{end}").write_bytes(wrap(raw))
    return folder


def write_fashion(folder: Path, files: dict[str, bytes]) -> Path:
    return write(folder, files, ".gz", gzip.compress)


@pytest.fixture
def cifar(monkeypatch):
    """The six batches of a tiny CIFAR-10 as (label, pixels) rows: two images each."""
    rng = np.random.default_rng(1)
    labels = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 5]
    rows = np.column_stack([labels, rng.integers(0, 256, (12, 3072))]).astype(np.uint8)
    batches = {name: rows[2 * i : 2 * i + 2] for i, name in enumerate(CIFAR)}
    md5 = {name: hashlib.md5(batch.tobytes()).hexdigest() for name, batch in batches.items()}
    monkeypatch.setitem(datasets.MD5, "cifar-10", md5)
    return batches


def pickled(rows: np.ndarray) -> bytes:
    batch = {b"batch_label": b"a batch", b"labels": rows[:, 0].tolist(), b"data": rows[:, 1:].copy()}
    return pickle.dumps(batch, protocol=2)


def pickled_by_python_2(rows: np.ndarray) -> bytes:
    """Opcode for opcode what Python 2 and numpy 1 wrote into the official files."""
    text = lambda s: b"U" + bytes([len(s)]) + s  # noqa: E731
    labels = b"".join(b"K" + bytes([label]) for label in rows[:, 0])
    array = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85" + text(b"b") + b"\x87R"
    dtype = b"cnumpy\ndtype\n" + text(b"u1") + b"K\x00K\x01\x87R"
    dtype += b"(K\x03" + text(b"|") + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    pixels = rows[:, 1:].tobytes()
    shape = b"K" + bytes([len(rows)]) + b"M" + struct.pack("<H", 3072) + b"\x86"
    array += b"(K\x01" + shape + dtype + b"\x89T" + struct.pack("<i", len(pixels)) + pixels + b"tb"
    return b"\x80\x02}(" + text(b"labels") + b"](" + labels + b"e" + text(b"data") + array + b"u."


def tarball(batches: dict[str, np.ndarray], *extra: tarfile.TarInfo) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for member in extra:
            tar.addfile(member, io.BytesIO(b"evil") if member.isreg() else None)
        for name, rows in batches.items():
            member = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            member.size = len(pickled(rows))
            tar.addfile(member, io.BytesIO(pickled(rows)))
    return out.getvalue()


@pytest.fixture
def alzheimer(monkeypatch):
    """The JPEG files of a tiny Alzheimer set, by path; the grey level tells the class apart."""
    counts = {"MildDemented": 2, "ModerateDemented": 1, "NonDemented": 3, "VeryMildDemented": 1}
    monkeypatch.setattr(release, "COUNTS", {"train": counts, "test": {**counts, "NonDemented": 1}})
    files = {}
    for split, kinds in release.COUNTS.items():
        for level, (kind, count) in enumerate(kinds.items()):
            for i in range(count):
                out = io.BytesIO()
                Image.new("L", (176, 208), 50 * level + i).save(out, "JPEG")
                files[f"{split}/{kind}/{kind} ({i}).jpg"] = out.getvalue()
    return files


def write_alzheimer(folder: Path, files: dict[str, bytes]) -> Path:
    for name, raw in reversed(files.items()):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(raw)
    return folder


def zipped(path: Path, files: dict[str, bytes], prefix: str = "") -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, raw in reversed(files.items()):
            archive.writestr(prefix + name, raw)
    return path


# ---- load: names, the two sets of scikit-learn, the catalog ----


def test_an_unknown_name_is_answered_with_the_nearest_one():
    told = message(ValueError, datasets.load, "cifar10")
    assert told == "data set 'cifar10' is not known; did you mean 'cifar-10'? (distpu data lists all)"
    assert "did you mean 'alzheimer'?" in message(ValueError, datasets.load, "Alzheimers")
    assert message(ValueError, datasets.load, "zzz") == "data set 'zzz' is not known (distpu data lists all)"


@pytest.mark.parametrize("name, labelled", [("digits", 100), ("breast-cancer", 50)])
def test_the_sklearn_sets_are_split_in_fixed_stratified_halves(name, labelled):
    np.random.seed(1)
    first = datasets.load(name)
    np.random.seed(2)
    second = datasets.load(name)
    assert np.array_equal(first.x, second.x) and np.array_equal(first.y_test, second.y_test)
    assert first.x.dtype == np.float32 and first.y.dtype == first.y_test.dtype == np.int64
    assert abs(first.y.mean() - first.y_test.mean()) < 0.01
    assert first.labelled == labelled <= first.y.sum()


@pytest.mark.parametrize("name, positives", [("digits", {0, 2, 4, 6, 8}), ("breast-cancer", {0})])
def test_the_sklearn_sets_keep_every_row_once_with_its_label(name, positives):
    from sklearn.datasets import load_breast_cancer, load_digits

    source = {"digits": load_digits, "breast-cancer": load_breast_cancer}[name]()
    rows = source.data.astype(np.float32)
    truth = {row.tobytes(): int(t in positives) for row, t in zip(rows, source.target, strict=True)}
    found = datasets.load(name)
    x, y = np.concatenate([found.x, found.x_test]), np.concatenate([found.y, found.y_test])
    assert len(x) == len(truth) == len({row.tobytes() for row in x})
    assert all(truth[row.tobytes()] == label for row, label in zip(x, y, strict=True))
    if name == "breast-cancer":
        assert source.target_names[0] == "malignant" == found.positive


def test_the_catalog_agrees_with_what_load_gives():
    info = {row.name: row for row in datasets.catalog()}
    names = ("digits", "breast-cancer", "fashion-mnist", "cifar-10", "alzheimer")
    assert tuple(info) == datasets.NAMES == names
    for name in ("digits", "breast-cancer"):
        found, row = datasets.load(name), info[name]
        assert (row.train, row.test, row.shape) == (len(found.x), len(found.x_test), found.x.shape[1:])
        assert (row.positive, row.labelled, row.where) == (found.positive, found.labelled, "in scikit-learn")


def test_the_catalog_says_where_each_set_is(tmp_path, fashion, cifar, alzheimer):
    where = lambda root: [row.where for row in datasets.catalog(root)][2:]  # noqa: E731
    assert where(tmp_path) == ["downloads 31 MB", "downloads 170 MB", f"put it at {tmp_path / 'alzheimer'}"]
    assert where(None)[2] == f"put it at {tmp_path / 'cache' / 'distpu' / 'alzheimer'}"
    write(tmp_path / "fashion-mnist", dict.fromkeys(FASHION, b"no pixels here"), ".gz")
    write(tmp_path / "cifar-10-batches-py", dict.fromkeys(CIFAR, b"nor here"))
    write_alzheimer(tmp_path / "alzheimer", dict.fromkeys(alzheimer, b"nor here"))
    folders = ("fashion-mnist", "cifar-10-batches-py", "alzheimer")
    assert where(tmp_path) == [str(tmp_path / folder) for folder in folders]


def test_importing_the_module_brings_in_nothing_heavy():
    code = """
import sys
from distpu import datasets
datasets.catalog()
print(*(m for m in ("torch", "pandas", "sklearn", "PIL", "rich", "pyarrow", "distpu.train.data") if m in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


# ---- where a set is looked for ----


def test_fashion_mnist_is_read_as_gz_or_plain_in_its_folder_or_beside(tmp_path, fashion):
    write_fashion(tmp_path / "a" / "fashion-mnist", fashion)
    write(tmp_path / "b", fashion)
    a, b = datasets.load("fashion-mnist", tmp_path / "a"), datasets.load("fashion-mnist", str(tmp_path / "b"))
    assert a.x.shape == (10, 1, 28, 28) and a.x_test.shape == (4, 1, 28, 28) and a.x.dtype == np.uint8
    assert a.x.tobytes() == fashion[FASHION[0]][16:] and a.x_test.tobytes() == fashion[FASHION[2]][16:]
    assert a.y.tolist() == [1, 0, 1, 0, 1, 0, 1, 0, 0, 0] and a.y_test.tolist() == [1, 0, 0, 1]
    assert a.y.dtype == np.int64 and a.labelled == 500
    assert a.x.flags.writeable  # torch.from_numpy warns otherwise
    assert np.array_equal(a.x, b.x) and np.array_equal(a.y_test, b.y_test)


def test_places_are_searched_in_order(tmp_path, fashion, monkeypatch):
    monkeypatch.setenv("DISTPU_DATA", str(tmp_path / "env"))
    order = [tmp_path / "root", tmp_path / "env", tmp_path / "cache" / "distpu", tmp_path / "system"]
    where = lambda: datasets.catalog(tmp_path / "root")[2].where  # noqa: E731
    for place in reversed(order):
        write_fashion(place / "fashion-mnist", fashion)
        assert where() == str(place / "fashion-mnist")
        assert len(datasets.load("fashion-mnist", tmp_path / "root", download=False).x) == 10


def test_the_cache_folder_follows_the_platform(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    place = lambda: datasets.catalog()[4].where.removeprefix("put it at ")  # noqa: E731
    assert place() == str(tmp_path / "cache/distpu/alzheimer")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(sys, "platform", "linux")
    assert place() == str(tmp_path / ".cache/distpu/alzheimer")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert place() == str(tmp_path / "Library/Caches/distpu/alzheimer")


def test_without_download_the_error_says_where_it_looked(tmp_path, monkeypatch):
    monkeypatch.setenv("DISTPU_DATA", str(tmp_path / "env"))
    for name in ("fashion-mnist", "cifar-10"):
        told = message(FileNotFoundError, datasets.load, name, tmp_path / "root", download=False)
        assert all(str(tmp_path / place) in told for place in ("root", "env", "cache/distpu"))
        assert (str(tmp_path / "system") in told) == (name == "fashion-mnist")
    assert not (tmp_path / "root").exists()


def test_alzheimer_missing_says_what_to_get_and_where_to_put_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = message(FileNotFoundError, datasets.load, "alzheimer", ".")
    for part in (
        "Alzheimer's Dataset (4 class of Images)",
        "tourist55/alzheimers-dataset-4-class-of-images",
        "Kaggle",
        f"folder at {tmp_path / 'alzheimer'} or",
        f"zip at {tmp_path / 'alzheimer.zip'}",
    ):
        assert part in told


# ---- damaged content ----


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: b"",
        lambda raw: raw[: len(raw) // 2],
        lambda raw: b"<html>not found</html>",
        lambda raw: gzip.compress(b""),
        lambda raw: gzip.compress(gzip.decompress(raw)[:-1] + b"\x00\x01"),
        lambda raw: raw[:20] + bytes(20) + raw[40:],
    ],
    ids=["empty", "truncated", "html", "empty-inside", "other-content", "garbled"],
)
def test_a_damaged_idx_file_is_named_with_the_remedy(tmp_path, fashion, damage):
    bad = write_fashion(tmp_path / "fashion-mnist", fashion) / f"{FASHION[2]}.gz"
    bad.write_bytes(damage(bad.read_bytes()))
    told = message(ValueError, datasets.load, "fashion-mnist", tmp_path)
    assert told.startswith(f"{bad} cannot be used (") and told.endswith("; delete it and run again")


@pytest.mark.parametrize("wrap", [pickled, pickled_by_python_2])
def test_cifar_pickles_of_old_and_new_pythons_are_read(tmp_path, cifar, wrap):
    write(tmp_path / "cifar-10-batches-py", cifar, wrap=wrap)
    found = datasets.load("cifar-10", tmp_path)
    assert found.x.shape == (10, 3, 32, 32) and found.x.dtype == np.uint8
    assert found.x_test.shape == (2, 3, 32, 32)
    assert np.array_equal(found.x[3].ravel(), cifar["data_batch_2"][1, 1:])
    assert np.array_equal(found.x_test[1].ravel(), cifar["test_batch"][1, 1:])
    assert found.y.tolist() == [1, 1, 0, 0, 0, 0, 0, 0, 1, 1] and found.y_test.tolist() == [1, 0]
    assert found.y.dtype == np.int64 and found.labelled == 1000
    for x in (found.x, found.x_test):
        assert x.flags.writeable and x.flags.c_contiguous


def test_cifar_names_of_numpy_1_and_2_are_both_known(cifar):
    new = pickled(cifar["test_batch"])
    assert (b"numpy.core" in new) != (b"numpy._core" in new)
    for name in (b"numpy.core", b"numpy._core"):
        raw = new.replace(b"numpy._core", name).replace(b"numpy.core", name)
        batch = readers._PlainUnpickler(io.BytesIO(raw), encoding="bytes").load()
        assert np.array_equal(batch[b"data"], cifar["test_batch"][:, 1:])


@pytest.mark.parametrize("folder", ["cifar-10-batches-bin", "."])
def test_cifar_is_also_read_from_bin_files(tmp_path, cifar, folder):
    write(tmp_path / folder, cifar, ".bin", np.ndarray.tobytes)
    found = datasets.load("cifar-10", tmp_path)
    assert found.y.tolist() == [1, 1, 0, 0, 0, 0, 0, 0, 1, 1]
    assert np.array_equal(found.x[0].ravel(), cifar["data_batch_1"][0, 1:])


class Command:
    def __init__(self, function, *args):
        self.call = function, args

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("function", [os.mkdir, eval, np.save, getattr])
def test_a_pickle_that_asks_for_anything_else_is_refused_unrun(tmp_path, cifar, function):
    mark = tmp_path / "ran"
    evil = {
        os.mkdir: Command(os.mkdir, str(mark)),
        eval: Command(eval, f"__import__('os').mkdir({str(mark)!r})"),
    }
    content = evil.get(function, Command(function, str(mark), "x"))
    bad = write(tmp_path / "cifar-10-batches-py", cifar, wrap=pickled) / "data_batch_3"
    bad.write_bytes(pickle.dumps({b"labels": [0, 1], b"data": content}, protocol=2))
    told = message(ValueError, datasets.load, "cifar-10", tmp_path)
    assert str(bad) in told and "it would call " in told and "delete it and run again" in told
    assert not mark.exists()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"garbage",
        pickle.dumps([1, 2], protocol=2),
        pickle.dumps({b"data": 1}, protocol=2),
        pickle.dumps({b"labels": [300], b"data": [1]}, protocol=2),
        pickle.dumps({b"labels": [1, 2], b"data": np.zeros((2, 3072))}, protocol=2),
        pickle.dumps({b"labels": [1, 2], b"data": np.zeros((2, 3072), np.uint8)}, protocol=2),
    ],
    ids=["empty", "garbage", "list", "no-labels", "label-300", "float-pixels", "other-pixels"],
)
def test_a_damaged_cifar_batch_is_named_with_the_remedy(tmp_path, cifar, content):
    bad = write(tmp_path / "cifar-10-batches-py", cifar, wrap=pickled) / "test_batch"
    bad.write_bytes(content)
    told = message(ValueError, datasets.load, "cifar-10", tmp_path)
    assert told.startswith(f"{bad} cannot be used (") and told.endswith("; delete it and run again")


def test_cifar_checks_labels_and_order_too(tmp_path, cifar):
    folder = write(tmp_path / "cifar-10-batches-bin", cifar, ".bin", np.ndarray.tobytes)
    (folder / "data_batch_1.bin").write_bytes(cifar["data_batch_1"][::-1].tobytes())
    assert "data_batch_1.bin cannot be used" in message(ValueError, datasets.load, "cifar-10", tmp_path)


# ---- alzheimer ----


def test_alzheimer_folder_gives_grey_rows_in_a_fixed_order(tmp_path, alzheimer, capsys):
    write_alzheimer(tmp_path / "alzheimer", alzheimer)
    found = datasets.load("alzheimer", tmp_path)
    assert found.x.shape == (7, 1, 224, 224) and found.x_test.shape == (5, 1, 224, 224)
    assert found.x.dtype == np.uint8 and found.y.dtype == np.int64 and found.labelled == 769
    assert found.x[:, 0, 100, 100].tolist() == [0, 1, 50, 100, 101, 102, 150]  # class by class, then by name
    assert found.y.tolist() == [1, 1, 1, 0, 0, 0, 1] and found.y_test.tolist() == [1, 1, 1, 0, 1]
    assert capsys.readouterr().err == ""  # no terminal, no progress bar


def test_alzheimer_images_are_resized_bilinearly(tmp_path, alzheimer):
    picture = Image.fromarray(np.random.default_rng(0).integers(0, 256, (208, 176, 3), dtype=np.uint8))
    out = io.BytesIO()
    picture.save(out, "JPEG")
    alzheimer["train/MildDemented/MildDemented (0).jpg"] = out.getvalue()
    write_alzheimer(tmp_path, alzheimer)
    expected = Image.open(out).convert("L").resize((224, 224), Image.Resampling.BILINEAR)
    assert np.array_equal(datasets.load("alzheimer", tmp_path).x[0, 0], np.asarray(expected))


def test_alzheimer_rows_of_the_last_slices_lie_apart(tmp_path, alzheimer, monkeypatch):
    """Files are numbered slice by slice; the order of rows is that of the names, where 10 comes before 2."""
    monkeypatch.setattr(release, "COUNTS", {**release.COUNTS, "train": {"MildDemented": 6, "NonDemented": 12}})
    monkeypatch.setattr(release, "PEOPLE", {"MildDemented": 1, "NonDemented": 2})
    monkeypatch.setattr(release, "TEST_SLICES", 2)  # of six: slices 4 and 5
    image = alzheimer["test/MildDemented/MildDemented (0).jpg"]
    files = {name: raw for name, raw in alzheimer.items() if name.startswith("test")}
    files |= {f"train/MildDemented/mildDem{i}.jpg": image for i in range(6)}
    files |= {f"train/NonDemented/nonDem{i}.jpg": image for i in range(12)}
    found = datasets.load("alzheimer", write_alzheimer(tmp_path, files))
    mild, non = [4, 5], [0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9]
    assert found.apart.tolist() == [i in mild for i in range(6)] + [i >= 8 for i in non]


def test_alzheimer_files_of_other_names_tell_no_slices(tmp_path, alzheimer):
    assert datasets.load("alzheimer", write_alzheimer(tmp_path / "a", alzheimer)).apart is None
    through = {f"{Path(name).parent}/image{i}.jpg": raw for i, (name, raw) in enumerate(alzheimer.items())}
    assert datasets.load("alzheimer", write_alzheimer(tmp_path / "b", through)).apart is None


@pytest.mark.parametrize("where", ["", "Alzheimer_s Dataset", "alzheimer/Alzheimer_s Dataset"])
def test_alzheimer_is_found_beside_and_one_level_down(tmp_path, alzheimer, where):
    write_alzheimer(tmp_path / where, alzheimer)
    assert datasets.load("alzheimer", tmp_path).y.sum() == 4


@pytest.mark.parametrize("prefix", ["", "Alzheimer_s Dataset/"])
def test_alzheimer_zip_is_read_in_place_and_equals_the_folder(tmp_path, alzheimer, prefix):
    folder = datasets.load("alzheimer", write_alzheimer(tmp_path / "folder", alzheimer))
    macos = {"__MACOSX/train/NonDemented/._26.jpg": b"not an image", f"{prefix}train/notes.txt": b""}
    (tmp_path / "data").mkdir()
    files = alzheimer if prefix else {**alzheimer, **macos}
    path = zipped(tmp_path / "data" / "alzheimer.zip", files, prefix)
    for root in (tmp_path / "data", path):
        found = datasets.load("alzheimer", root)
        assert np.array_equal(found.x, folder.x) and np.array_equal(found.y_test, folder.y_test)
    assert [file.name for file in (tmp_path / "data").iterdir()] == ["alzheimer.zip"]


@pytest.mark.parametrize("change", ["one more", "one less", "class missing"])
def test_alzheimer_counts_are_checked(tmp_path, alzheimer, change):
    folder = write_alzheimer(tmp_path / "alzheimer", alzheimer)
    mild = folder / "test" / "MildDemented"
    if change == "one more":
        (mild / "extra.jpg").write_bytes(alzheimer["test/MildDemented/MildDemented (0).jpg"])
    for file in list(mild.iterdir())[{"one more": 9, "one less": 1, "class missing": 0}[change] :]:
        file.unlink()
    count = {"one more": 3, "one less": 1, "class missing": 0}[change]
    told = message(ValueError, datasets.load, "alzheimer", tmp_path)
    assert f"{folder} holds {count} images in test/MildDemented, but the release has 2; " in told


@pytest.mark.parametrize("content", [b"", b"not a jpeg", None], ids=["empty", "garbage", "truncated"])
def test_a_damaged_image_is_named(tmp_path, alzheimer, content):
    name = "test/NonDemented/NonDemented (0).jpg"
    alzheimer[name] = alzheimer[name][:300] if content is None else content
    write_alzheimer(tmp_path / "alzheimer", alzheimer)
    told = message(ValueError, datasets.load, "alzheimer", tmp_path)
    assert told.startswith(f"{tmp_path / 'alzheimer' / name} cannot be used (")


def test_a_truncated_alzheimer_zip_is_named(tmp_path, alzheimer):
    path = zipped(tmp_path / "alzheimer.zip", alzheimer)
    path.write_bytes(path.read_bytes()[:-100])
    assert message(ValueError, datasets.load, "alzheimer", tmp_path).startswith(f"{path} cannot be used (")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_person_at_a_terminal_sees_progress(tmp_path, alzheimer, monkeypatch):
    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    datasets.load("alzheimer", write_alzheimer(tmp_path, alzheimer))
    assert "alzheimer train" in screen.getvalue() and "alzheimer test" in screen.getvalue()


# ---- downloads ----


class Server(ThreadingHTTPServer):
    """Serves `files`; `breaks` answers stop halfway, `resumes` says whether Range is honoured."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.log, self.breaks, self.resumes, self.status = {}, [], 0, True, None
        self.wrong_range, self.tells_size = False, True
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *args):
        pass

    def do_GET(self):
        asked = self.headers.get("Range")
        self.server.log.append((self.path.lstrip("/"), asked))
        body = self.server.files.get(self.path.lstrip("/"))
        if body is None or self.server.status:
            return self.answer(self.server.status or 404, b"no")
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and self.server.resumes else 0
        if asked and start >= len(body):
            return self.answer(416, b"", f"bytes */{len(body)}" if self.server.tells_size else None)
        told = start + self.server.wrong_range
        span = f"bytes {told}-{len(body) - 1}/{len(body)}" if start else None
        self.answer(206 if start else 200, body[start:], span)

    def answer(self, status: int, body: bytes, content_range: str | None = None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if content_range:
            self.send_header("Content-Range", content_range)
        self.end_headers()
        if status < 300 and self.server.breaks:
            self.server.breaks -= 1
            body = body[: len(body) // 2]
        self.wfile.write(body)


@pytest.fixture
def server(monkeypatch):
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        monkeypatch.setitem(datasets.SOURCES, "fashion-mnist", running.url)
        monkeypatch.setitem(datasets.SOURCES, "cifar-10", f"{running.url}/cifar-10-python.tar.gz")
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def fashion_server(server, fashion):
    server.files = {f"{name}.gz": gzip.compress(raw) for name, raw in fashion.items()}
    return server


@pytest.fixture
def cifar_server(server, cifar):
    server.files = {"cifar-10-python.tar.gz": tarball(cifar)}
    return server


def test_a_missing_set_is_downloaded_once_into_the_cache(tmp_path, fashion_server, capsys):
    found = datasets.load("fashion-mnist")
    assert len(found.x) == 10 and len(fashion_server.log) == 4
    home = tmp_path / "cache" / "distpu"
    assert sorted(os.listdir(home / "fashion-mnist")) == sorted(fashion_server.files)
    assert os.listdir(home) == ["fashion-mnist"]
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and fashion_server.url in told and str(home) in told
    datasets.load("fashion-mnist")
    assert len(fashion_server.log) == 4 and capsys.readouterr().err == ""


def test_cifar_is_downloaded_and_unpacked_into_root(tmp_path, cifar_server):
    assert datasets.load("cifar-10", tmp_path / "new" / "root").y.sum() == 4
    assert os.listdir(tmp_path / "new" / "root") == ["cifar-10-batches-py"]
    assert sorted(os.listdir(tmp_path / "new" / "root" / "cifar-10-batches-py")) == sorted(CIFAR)


def test_a_download_shows_progress_at_a_terminal(tmp_path, cifar_server, monkeypatch):
    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    datasets.load("cifar-10", tmp_path)
    assert "cifar-10-python.tar.gz" in screen.getvalue() and "fetching" not in screen.getvalue()


def test_a_broken_transfer_goes_on_where_it_stopped(tmp_path, cifar_server):
    cifar_server.breaks = 1
    assert len(datasets.load("cifar-10", tmp_path).x) == 10
    half = len(cifar_server.files["cifar-10-python.tar.gz"]) // 2
    assert [asked for _, asked in cifar_server.log] == [None, f"bytes={half}-"]


def test_after_the_last_try_the_part_is_kept_for_the_next_run(tmp_path, cifar_server):
    cifar_server.breaks = 3  # as many as there are tries
    told = message(FileNotFoundError, datasets.load, "cifar-10", tmp_path)
    assert "cifar-10-python.tar.gz could not be fetched (it broke off after " in told
    assert datasets.catalog(tmp_path)[3].where == "downloads 170 MB"  # nothing half-written in its place
    part = next(tmp_path.rglob("*.part/*.part"))
    assert 0 < part.stat().st_size < len(cifar_server.files["cifar-10-python.tar.gz"])
    cifar_server.log.clear()
    have = part.stat().st_size
    assert len(datasets.load("cifar-10", tmp_path).x) == 10
    assert cifar_server.log == [("cifar-10-python.tar.gz", f"bytes={have}-")]
    assert os.listdir(tmp_path) == ["cifar-10-batches-py"]


def test_a_server_that_ignores_ranges_is_read_from_the_start(tmp_path, cifar_server):
    cifar_server.breaks, cifar_server.resumes = 1, False
    assert len(datasets.load("cifar-10", tmp_path).x) == 10
    assert len(cifar_server.log) == 2


def test_an_answer_for_another_range_is_not_appended(tmp_path, cifar_server):
    cifar_server.breaks, cifar_server.wrong_range = 1, True
    assert len(datasets.load("cifar-10", tmp_path).x) == 10
    assert [asked is None for _, asked in cifar_server.log] == [True, False, True]


@pytest.mark.parametrize("surplus, tells_size, requests", [(0, True, 1), (5, True, 2), (0, False, 2)])
def test_a_part_that_is_already_whole_or_too_long(tmp_path, cifar_server, surplus, tells_size, requests):
    cifar_server.tells_size = tells_size
    (tmp_path / ".cifar-10.part").mkdir()
    content = cifar_server.files["cifar-10-python.tar.gz"] + bytes(surplus)
    (tmp_path / ".cifar-10.part" / "cifar-10-python.tar.gz.part").write_bytes(content)
    assert len(datasets.load("cifar-10", tmp_path).x) == 10
    assert len(cifar_server.log) == requests


def test_a_part_of_something_else_is_found_out_and_dropped(tmp_path, cifar_server):
    (tmp_path / ".cifar-10.part").mkdir()
    (tmp_path / ".cifar-10.part" / "cifar-10-python.tar.gz.part").write_bytes(b"of another file")
    message(ValueError, datasets.load, "cifar-10", tmp_path)
    assert len(datasets.load("cifar-10", tmp_path).x) == 10


def test_not_found_is_not_tried_again(tmp_path, server, fashion):
    told = message(FileNotFoundError, datasets.load, "fashion-mnist", tmp_path)
    assert f"{server.url}/{FASHION[0]}.gz could not be fetched (HTTP Error 404: Not Found)" in told
    assert len(server.log) == 1 and not (tmp_path / "fashion-mnist").exists()


def test_a_range_refused_that_was_not_asked_for(tmp_path, fashion_server):
    fashion_server.status = 416
    assert "HTTP Error 416" in message(FileNotFoundError, datasets.load, "fashion-mnist", tmp_path)


def test_a_failing_server_is_tried_again(tmp_path, fashion_server):
    fashion_server.status = 503
    assert "HTTP Error 503" in message(FileNotFoundError, datasets.load, "fashion-mnist", tmp_path)
    assert len(fashion_server.log) == 3


def test_no_server_at_all(tmp_path, monkeypatch):
    monkeypatch.setitem(datasets.SOURCES, "cifar-10", "http://127.0.0.1:9/cifar.tar.gz")
    told = message(FileNotFoundError, datasets.load, "cifar-10", tmp_path)
    assert "http://127.0.0.1:9/cifar.tar.gz could not be fetched (" in told and "refused" in told


class Endless(BaseHTTPRequestHandler):
    """Sends zeros until the other side hangs up, or 64 MiB are sent; with or without a length that it tells."""

    length: str | None = None

    def log_message(self, *args):
        pass

    def do_GET(self):
        self.send_response(200)
        if self.length:
            self.send_header("Content-Length", self.length)
        self.end_headers()
        with contextlib.suppress(OSError):
            for _ in range(1024):
                self.wfile.write(bytes(2**16))
                self.server.sent += 2**16


@pytest.mark.parametrize("length", [None, str(10**12)])
@pytest.mark.parametrize("name", ["cifar-10", "fashion-mnist"])
def test_a_server_that_never_stops_is_left(name, length, tmp_path, monkeypatch):
    monkeypatch.setitem(known.MOST, name, 2**20)
    monkeypatch.setattr(Endless, "length", length)
    with ThreadingHTTPServer(("127.0.0.1", 0), Endless) as server:
        server.sent = 0
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        monkeypatch.setitem(datasets.SOURCES, name, f"http://127.0.0.1:{server.server_port}/file.tar.gz")
        told = message(ValueError, datasets.load, name, tmp_path)
        server.shutdown()
    assert "sends more than 1,048,576 bytes, and the official file has fewer; the part is removed" in told
    assert not any(path.is_file() for path in tmp_path.rglob("*")) and server.sent < 2**25


def test_an_archive_that_would_fill_the_disk(tmp_path, cifar_server, cifar, monkeypatch):
    monkeypatch.setattr(fetch, "UNPACKED", 1000)
    told = message(ValueError, datasets.load, "cifar-10", tmp_path)
    assert "cannot be used (it holds 'cifar-10-batches-py/" in told and "where 1,000 are plausible" in told
    assert not any(path.is_file() for path in tmp_path.rglob("*"))


def test_a_packed_file_that_would_fill_the_memory(tmp_path, fashion, monkeypatch):
    folder = write_fashion(tmp_path / "fashion-mnist", fashion)
    monkeypatch.setattr(readers, "UNPACKED", 2**20)
    (folder / f"{FASHION[0]}.gz").write_bytes(gzip.compress(bytes(2**24)))
    assert "(it has more than 1,048,576 bytes); delete it" in message(
        ValueError, datasets.load, "fashion-mnist", tmp_path
    )


@pytest.mark.parametrize("content", [b"", b"<html>sign in</html>", gzip.compress(b"other", mtime=0)])
def test_wrong_content_is_refused_and_not_kept(tmp_path, fashion_server, content):
    name = f"{FASHION[1]}.gz"
    good, fashion_server.files[name] = fashion_server.files[name], content
    told = message(ValueError, datasets.load, "fashion-mnist", tmp_path)
    assert told.startswith(f"{fashion_server.url}/{name} cannot be used (")
    assert not (tmp_path / "fashion-mnist").exists()
    fashion_server.files[name] = good
    fashion_server.log.clear()
    assert len(datasets.load("fashion-mnist", tmp_path).x) == 10
    assert (f"{FASHION[0]}.gz", None) not in fashion_server.log  # what was right is not fetched again


def test_a_deleted_file_alone_is_fetched_again(tmp_path, fashion_server, fashion):
    folder = write_fashion(tmp_path / "fashion-mnist", fashion)
    (folder / f"{FASHION[3]}.gz").unlink()
    assert datasets.load("fashion-mnist", tmp_path).y_test.tolist() == [1, 0, 0, 1]
    assert fashion_server.log == [(f"{FASHION[3]}.gz", None)]


def test_a_deleted_batch_is_put_back_beside_the_others(tmp_path, cifar_server, cifar):
    folder = write(tmp_path / "cifar-10-batches-py", cifar, wrap=pickled_by_python_2)
    (folder / "batches.meta").write_bytes(b"of the user")
    (folder / "data_batch_2").unlink()
    before = {file: file.read_bytes() for file in folder.iterdir()}
    assert len(datasets.load("cifar-10", tmp_path).x) == 10
    assert {file: file.read_bytes() for file in before} == before


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    info.size = 4 if kind == tarfile.REGTYPE else 0
    return info


@pytest.mark.parametrize(
    "evil",
    [
        member("../x"),
        member("cifar-10-batches-py/../../../x"),
        member("/tmp/distpu-evil-x"),
        member("cifar-10-batches-py/data_batch_1", tarfile.SYMTYPE, "/etc/passwd"),
        member("cifar-10-batches-py", tarfile.SYMTYPE, ".."),
        member("cifar-10-batches-py/data_batch_1", tarfile.LNKTYPE, "x"),
        member("cifar-10-batches-py/null", tarfile.CHRTYPE),
        member("cifar-10-batches-py/pipe", tarfile.FIFOTYPE),
    ],
    ids=lambda info: f"{info.name}-{info.type.decode()}",
)
def test_an_evil_archive_is_refused_and_writes_nothing(tmp_path, cifar_server, cifar, evil):
    cifar_server.files["cifar-10-python.tar.gz"] = tarball(cifar, evil)
    root = tmp_path / "a" / "b"
    told = message(ValueError, datasets.load, "cifar-10", root)
    assert f"it holds {evil.name!r}, which is unsafe to unpack" in told
    assert list(root.iterdir()) == [] and os.listdir(tmp_path / "a") == ["b"]
    assert not Path("/tmp/distpu-evil-x").exists()


def test_only_the_expected_members_are_unpacked(tmp_path, cifar_server, cifar):
    surplus = [member("cifar-10-batches-py/run.py"), member("y")]
    cifar_server.files["cifar-10-python.tar.gz"] = tarball(cifar, *surplus)
    datasets.load("cifar-10", tmp_path)
    assert {f.name for f in tmp_path.rglob("*") if f.is_file()} == set(CIFAR)


@pytest.mark.parametrize(
    "change",
    [
        lambda cifar: tarball({k: v for k, v in cifar.items() if k != "test_batch"}),
        lambda cifar: tarball({**cifar, "test_batch": cifar["data_batch_1"]}),
        lambda cifar: tarball(cifar)[:-2000],
        lambda cifar: b"not a tar",
    ],
    ids=["batch missing", "other pixels", "cut short", "garbage"],
)
def test_an_archive_with_other_content_is_refused(tmp_path, cifar_server, cifar, change):
    cifar_server.files["cifar-10-python.tar.gz"] = change(cifar)
    told = message(ValueError, datasets.load, "cifar-10", tmp_path)
    assert told.startswith(f"{datasets.SOURCES['cifar-10']} cannot be used (")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_while_unpacking_keeps_the_download(tmp_path, cifar_server, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(tarfile.TarFile, "extract", full)
        assert "No space left" in message(ValueError, datasets.load, "cifar-10", tmp_path)
    assert not (tmp_path / "cifar-10-batches-py").exists()
    cifar_server.log.clear()
    assert len(datasets.load("cifar-10", tmp_path).x) == 10
    whole = len(cifar_server.files["cifar-10-python.tar.gz"])
    assert cifar_server.log == [("cifar-10-python.tar.gz", f"bytes={whole}-")]


def test_a_root_that_cannot_be_written(tmp_path, cifar_server):
    (tmp_path / "file").write_text("in the way")
    told = message(FileNotFoundError, datasets.load, "cifar-10", tmp_path / "file")
    assert f"cifar-10 cannot be put into {tmp_path / 'file'} (" in told


def test_two_at_once_fetch_only_once(tmp_path, cifar_server):
    loads = [threading.Thread(target=datasets.load, args=("cifar-10", tmp_path)) for _ in range(3)]
    for thread in loads:
        thread.start()
    for thread in loads:
        thread.join()
    assert len(cifar_server.log) == 1 and os.listdir(tmp_path) == ["cifar-10-batches-py"]


@pytest.mark.parametrize(
    "name, train, test",
    [
        ("fashion-mnist", (60_000, 24_000), (10_000, 4_000)),
        ("cifar-10", (50_000, 20_000), (10_000, 4_000)),
        ("alzheimer", (5_121, 2_561), (1_279, 639)),
    ],
)
def test_the_real_sets_have_their_rows_and_positives(name, train, test):
    info = next(row for row in datasets.catalog(REAL) if row.name == name)
    if not REAL or not info.where.startswith(str(Path(REAL).absolute())):
        pytest.skip(f"$DISTPU_DATA={REAL or ''} does not hold {name}")
    found = datasets.load(name, REAL, download=False)
    assert (len(found.x), found.y.sum()) == train and (len(found.x_test), found.y_test.sum()) == test
    assert (info.train, info.test, info.shape) == (train[0], test[0], found.x.shape[1:])
    assert len(found.y) == train[0] and len(found.y_test) == test[0] and found.x.dtype == np.uint8
    if name == "alzheimer":  # as many positives there as anywhere
        assert found.apart.sum() == 1_321 and found.y[found.apart].sum() == 661
