"""Data sets: a name (`load`) or a user's file (`read`) in, arrays out.

Files are judged by their content, not by name or origin: what is read is compared with the md5 of the
official release, and nothing is unpickled or unpacked that could run code or write outside its folder.
pandas, scikit-learn, Pillow and rich are imported where they are used, so that listing the sets stays quick.
"""

from __future__ import annotations

import difflib
import gzip
import hashlib
import io
import os
import pickle
import re
import shutil
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .download import alone, fetch, reason, unpack, watched

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Dataset:
    name: str
    x: np.ndarray
    y: np.ndarray  # true labels, int64, 1 = positive
    x_test: np.ndarray
    y_test: np.ndarray
    labelled: int  # labelled positives in the paper's protocol
    positive: str  # the positive class in words
    apart: np.ndarray | None = None  # training rows as far from the rest as test rows; None where random ones are, too


@dataclass(frozen=True)
class Info:
    name: str
    train: int
    test: int
    shape: tuple[int, ...]  # of one row
    positive: str
    labelled: int
    where: str  # a path, or what brings the set there


_INFO = {
    "digits": Info("digits", 901, 896, (64,), "even digits", 100, "in scikit-learn"),
    "breast-cancer": Info("breast-cancer", 285, 284, (30,), "malignant", 50, "in scikit-learn"),
    "fashion-mnist": Info("fashion-mnist", 60_000, 10_000, (1, 28, 28), "tops", 500, "downloads 31 MB"),
    "cifar-10": Info("cifar-10", 50_000, 10_000, (3, 32, 32), "vehicles", 1000, "downloads 170 MB"),
    "alzheimer": Info("alzheimer", 5121, 1279, (1, 224, 224), "demented", 769, "put it at {}/alzheimer"),
}
NAMES = tuple(_INFO)

SOURCES = {
    "fashion-mnist": "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",  # plain http: MD5 decides
    "cifar-10": "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
}
MD5 = {
    "fashion-mnist": {  # of the decompressed files: the gzip wrapping differs between releases
        "train-images-idx3-ubyte": "f4a8712d7a061bf5bd6d2ca38dc4d50a",
        "train-labels-idx1-ubyte": "9018921c3c673c538a1fc5bad174d6f9",
        "t10k-images-idx3-ubyte": "8181f5470baa50b63fa0f6fddb340f0a",
        "t10k-labels-idx1-ubyte": "15d484375f8d13e6eb1aabb0c3f46965",
    },
    "cifar-10": {  # of rows (label, 3072 pixels), which is the layout of the official .bin files
        "data_batch_1": "5dd7e06a14cb22eb9f671a540d1b7c25",
        "data_batch_2": "5ea93a67294ea407fff1d09f752e9692",
        "data_batch_3": "942cd6a4bcdd0dd3c604fbe906cb4421",
        "data_batch_4": "ae636b3ba5c66a11e91e8cb52e771fcb",
        "data_batch_5": "53f37980c15c3d472c316c40844f3f0d",
        "test_batch": "803d5f7f4d78ea53de84dbe85f74fb6d",
    },
}
COUNTS = {  # images per class of the Alzheimer release
    "train": {"MildDemented": 717, "ModerateDemented": 52, "NonDemented": 2560, "VeryMildDemented": 1792},
    "test": {"MildDemented": 179, "ModerateDemented": 12, "NonDemented": 640, "VeryMildDemented": 448},
}
PEOPLE = {"MildDemented": 28, "ModerateDemented": 2, "NonDemented": 100, "VeryMildDemented": 70}
TEST_SLICES = 7  # the last of each one's 32 slices; six of most
_FOLDERS = {"fashion-mnist": ["fashion-mnist"], "cifar-10": ["cifar-10-batches-py", "cifar-10-batches-bin"]}
_ZIPS = ("alzheimer.zip", "alzheimers-dataset-4-class-of-images.zip")
SYSTEM = Path("/usr/share/datasets")  # Debian's package dataset-fashion-mnist installs here


def load(name: str, root: str | Path | None = None, download: bool = True) -> Dataset:
    """The named set with its true labels, from `root` or the usual places; downloaded when it is in none."""
    known = info(name)
    arrays = _SKLEARN[name]() if name in _SKLEARN else _READERS[name](_located(name, root, download))
    x, y, x_test, y_test, *apart = arrays
    return Dataset(name, x, y, x_test, y_test, known.labelled, known.positive, *apart)


def info(name: str) -> Info:
    if name not in _INFO:
        hint = _nearest(str(name).lower(), NAMES)
        raise ValueError(f"data set {name!r} is not known{hint} (distpu data lists all)")
    return _INFO[name]


def catalog(root: str | Path | None = None) -> list[Info]:
    """All sets and where each one is; looks at file names only."""
    found = {name: _found(name, root) for name in _READERS}
    return [replace(i, where=str(found.get(i.name) or i.where.format(_home(root)))) for i in _INFO.values()]


# ---- the named sets: x, y, x_test, y_test ----


def _digits() -> list[np.ndarray]:
    from sklearn.datasets import load_digits

    x, digit = load_digits(return_X_y=True)
    return _halves(x, digit, digit % 2 == 0)


def _breast_cancer() -> list[np.ndarray]:
    from sklearn.datasets import load_breast_cancer

    x, benign = load_breast_cancer(return_X_y=True)
    return _halves(x, benign, benign == 0)


def _halves(x, strata, y) -> list[np.ndarray]:
    """Every other row of each stratum trains: one split, whatever the seed and the versions of libraries."""
    train = np.zeros(len(y), dtype=bool)
    for value in np.unique(strata):
        train[np.flatnonzero(strata == value)[::2]] = True
    x, y = x.astype(np.float32), y.astype(np.int64)
    return [x[train], y[train], x[~train], y[~train]]


def _fashion_mnist(folder: Path) -> list[np.ndarray]:
    x, y, x_test, y_test = [_checked(_idx, folder, name) for name in MD5["fashion-mnist"]]
    tops = (0, 2, 4, 6)
    return [x[:, None], _among(y, tops), x_test[:, None], _among(y_test, tops)]


def _idx(path: Path, name: str) -> np.ndarray:
    """The array of an idx file: a magic number whose last byte counts dimensions, the sizes, the bytes."""
    raw = path.read_bytes()
    raw = gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw
    _compare(raw, MD5["fashion-mnist"][name])
    sizes = np.frombuffer(raw, ">u4", count=raw[3], offset=4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(sizes).copy()  # frombuffer: read-only


def _cifar10(folder: Path) -> list[np.ndarray]:
    *train, test = [_checked(_cifar_rows, folder, name) for name in MD5["cifar-10"]]
    arrays, vehicles = [], (0, 1, 8, 9)
    for rows in (np.concatenate(train), test):
        arrays += [rows[:, 1:].copy().reshape(-1, 3, 32, 32), _among(rows[:, 0], vehicles)]
    return arrays


def _cifar_rows(path: Path, name: str) -> np.ndarray:
    """One batch as (label, pixels) rows, from the .bin file or from the pickle."""
    raw = path.read_bytes()
    if path.suffix != ".bin":
        batch = _PlainUnpickler(io.BytesIO(raw), encoding="bytes").load()
        labels = np.array(batch[b"labels"], dtype=np.uint8)
        raw = np.column_stack([labels, batch[b"data"]]).astype(np.uint8).tobytes()
    _compare(raw, MD5["cifar-10"][name])
    return np.frombuffer(raw, np.uint8).reshape(-1, 3073)


def _new_array(kind, shape, code):
    return np.ndarray(shape, code)


_PICKLED = {
    "numpy.core.multiarray._reconstruct": _new_array,  # as numpy 1 called it
    "numpy._core.multiarray._reconstruct": _new_array,  # and numpy 2
    "numpy.ndarray": None,  # only ever the `kind` above
    "numpy.dtype": lambda code, *flags: np.dtype(code),  # numpy 2.4.0 to 2.4.4 warn of the old flags
    "_codecs.encode": lambda text, encoding: text.encode("latin1"),  # how Python 3 puts bytes into protocol 2
}


class _PlainUnpickler(pickle.Unpickler):
    """Builds numpy arrays and nothing else: a pickle may name any function, and unpickling would call it."""

    def find_class(self, module: str, name: str):
        if f"{module}.{name}" not in _PICKLED:
            raise ValueError(f"it asks for {module}.{name}, which no CIFAR-10 batch needs")
        return _PICKLED[f"{module}.{name}"]


def _alzheimer(source: Path) -> list[Any]:
    if source.is_dir():
        files = [file for split in COUNTS for file in source.glob(f"{split}/*/*")]
        names = [file.relative_to(source).as_posix() for file in files]
        return _both_splits(source, names, lambda name: (source / name).read_bytes())
    with _one_line(source, "get the zip again"):
        archive = zipfile.ZipFile(source)
    with archive:
        return _both_splits(source, archive.namelist(), archive.read)


def _both_splits(source: Path, names: list[str], content: Callable[[str], bytes]) -> list[Any]:
    files = {split: _files(source, split, names) for split in ("train", "test")}
    arrays = [array for split in files for array in _images(source, split, files[split], content)]
    return [*arrays, _last_slices(files["train"])]


_LAYOUT = re.compile(r"(?:[^/]+/)?(train|test)/(\w+)/([^/.][^/]*\.(?i:jpe?g))")  # not macOS's ._x.jpg


def _files(source: Path, split: str, names: list[str]) -> list[tuple[str, str, str]]:
    """Class, file name and path of each image of a split, in that order."""
    matches = [m for m in map(_LAYOUT.fullmatch, names) if m and m[1] == split and m[2] in COUNTS[split]]
    found = sorted((m[2], m[3], m[0]) for m in matches)
    for kind, expected in COUNTS[split].items():
        count = sum(row[0] == kind for row in found)
        if count != expected:
            remedy = f"the release has {expected}; delete it and unpack the release again"
            raise ValueError(f"{source} holds {count} images in {split}/{kind}, {remedy}")
    return found


def _images(
    source: Path, split: str, files: list[tuple[str, str, str]], content: Callable[[str], bytes]
) -> list[np.ndarray]:
    """Pixels and labels, in the order of the files."""
    x = np.empty((len(files), 1, 224, 224), np.uint8)

    def decode(i: int) -> None:
        with _one_line(f"{source}/{files[i][2]}", "unpack the release again"):
            x[i, 0] = _grey(content(files[i][2]))

    with ThreadPoolExecutor(2) as pool:  # Pillow decodes outside the interpreter lock
        for _ in watched(pool.map(decode, range(len(x))), f"alzheimer {split}", len(x)):
            pass
    return [x, np.array([kind != "NonDemented" for kind, *_ in files], dtype=np.int64)]


def _last_slices(files: list[tuple[str, str, str]]) -> np.ndarray | None:
    """Which training rows are of the last slices that train; None where files are not numbered as in the release.

    The release shows 200 people in 32 slices each. Those of a class are numbered slice by slice, and its test rows are
    the last six or seven of the same people. So a training row drawn at random has a twin, the slice next to it, among
    the others, and most test rows have none (docs/reproduce.md).
    """
    found = [re.fullmatch(r"[A-Za-z]+(\d+)", Path(name).stem) for _, name, _ in files]
    kinds, numbers = np.array([kind for kind, *_ in files]), np.array([int(m[1]) if m else -1 for m in found])
    slices = np.empty(len(files), dtype=np.int64)
    for kind in np.unique(kinds):
        own = numbers[kinds == kind]
        if sorted(own) != [*range(len(own))]:
            return None
        slices[kinds == kind] = own // PEOPLE[kind]
    return slices > slices.max() - TEST_SLICES


def _grey(content: bytes) -> np.ndarray:
    from PIL import Image

    with Image.open(io.BytesIO(content)) as image:
        return np.asarray(image.convert("L").resize((224, 224), Image.Resampling.BILINEAR))


def _among(label: np.ndarray, positives: tuple[int, ...]) -> np.ndarray:
    return np.isin(label, positives).astype(np.int64)


_SKLEARN = {"digits": _digits, "breast-cancer": _breast_cancer}
_READERS = {"fashion-mnist": _fashion_mnist, "cifar-10": _cifar10, "alzheimer": _alzheimer}


# ---- where the sets are ----


def _home(root: str | Path | None) -> Path:
    """Where a set belongs that is not there yet."""
    if root is not None:
        return Path(root).expanduser().absolute()
    default = "~/Library/Caches" if sys.platform == "darwin" else "~/.cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or default).expanduser() / "distpu"


def _places(name: str, root: str | Path | None) -> list[Path]:
    named = [_home(place) for place in (root, os.environ.get("DISTPU_DATA")) if place]
    return [*dict.fromkeys([*named, _home(None)]), *([SYSTEM] if name == "fashion-mnist" else [])]


def _found(name: str, root: str | Path | None) -> Path | None:
    """The first folder (or zip) that has the files of the set; their content is judged when it is read."""
    sources = _alzheimer_sources if name == "alzheimer" else lambda place: _complete_folders(name, place)
    return next((path for place in _places(name, root) for path in sources(place)), None)


def _complete_folders(name: str, place: Path) -> Iterator[Path]:
    folders = [*(place / folder for folder in _FOLDERS[name]), place]
    return (folder for folder in folders if all(_file(folder, file) for file in MD5[name]))


def _alzheimer_sources(place: Path) -> Iterator[Path]:
    for folder in (place / "alzheimer", place):
        with suppress(OSError):  # not a folder, or not ours to read
            candidates = [folder, *sorted(folder.iterdir())]
            yield from (f for f in candidates if os.path.isdir(f / "train" / "NonDemented"))
    zips = [place] if place.suffix == ".zip" else [place / name for name in _ZIPS]
    yield from filter(os.path.isfile, zips)


def _file(folder: Path, name: str) -> Path | None:
    return next(filter(os.path.isfile, (folder / f"{name}{end}" for end in ("", ".gz", ".bin"))), None)


def _located(name: str, root: str | Path | None, download: bool) -> Path:
    found, home = _found(name, root), _home(root)
    if found:
        return found
    missing = f"{name} is missing or incomplete in {', '.join(map(str, _places(name, root)))}"
    if name == "alzheimer":
        what = '"Alzheimer\'s Dataset (4 class of Images)" (tourist55/alzheimers-dataset-4-class-of-images)'
        where = f"its folder at {home / 'alzheimer'} or its zip at {home / 'alzheimer.zip'}"
        raise FileNotFoundError(f"{missing}; get {what} with an account at Kaggle and put {where}")
    if not download:
        raise FileNotFoundError(f"{missing}; allow the download or put it at {home / _FOLDERS[name][0]}")
    return _download(name, home)


# ---- downloads ----


def _download(name: str, home: Path) -> Path:
    """Fetch and check the set in a hidden folder beside its place, then move it there in one step."""
    target, stage = home / _FOLDERS[name][0], home / f".{name}.part"
    try:
        stage.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        remedy = "name a folder that can be written"
        raise FileNotFoundError(f"{name} cannot be put into {home} ({error.strerror}); {remedy}") from error
    with alone(home):
        if not _found(name, home):  # else another process has fetched it while this one waited
            if not sys.stderr.isatty():
                print(f"fetching {name} from {SOURCES[name]} into {target}", file=sys.stderr)
            fresh = stage / target.name
            fresh.mkdir(parents=True, exist_ok=True)
            (_fetch_fashion if name == "fashion-mnist" else _fetch_cifar)(stage, fresh, target)
            _move(fresh, target)
        shutil.rmtree(stage, ignore_errors=True)
    return _located(name, home, download=False)


def _move(fresh: Path, target: Path) -> None:
    if not target.exists():
        fresh.rename(target)
        return
    for file in fresh.iterdir():  # the folder lacks files, such as one deleted because it was damaged
        if not (target / file.name).exists():
            file.replace(target / file.name)


def _fetch_fashion(stage: Path, fresh: Path, target: Path) -> None:
    for name in MD5["fashion-mnist"]:
        if _file(target, name) or _file(fresh, name):
            continue
        url, part = f"{SOURCES['fashion-mnist']}/{name}.gz", stage / f"{name}.gz.part"
        fetch(url, part)
        with _one_line(url, "try again later", discard=part):
            _idx(part, name)
        part.rename(fresh / f"{name}.gz")


def _fetch_cifar(stage: Path, fresh: Path, target: Path) -> None:
    url, part = SOURCES["cifar-10"], stage / "cifar-10-python.tar.gz.part"
    fetch(url, part)
    with _one_line(url, "try again later", discard=stage):
        unpack(part, stage, {f"{fresh.name}/{name}" for name in MD5["cifar-10"]})
        for name in MD5["cifar-10"]:
            _cifar_rows(fresh / name, name)


# ---- a user's own file ----


def read(
    path: str | Path, label: str | None = None, columns: list[str] | None = None
) -> tuple[np.ndarray | pd.DataFrame, np.ndarray | None]:
    """X and y of a .npz, .parquet, .csv or .tsv file (text also .gz); y is None when there is no label.

    Of a table, `columns` keeps those alone and in that order, whatever else it holds.
    """
    path = Path(path).expanduser()
    if not path.exists():
        siblings = os.listdir(path.parent) if path.parent.is_dir() else []
        raise FileNotFoundError(f"{path} does not exist{_nearest(path.name, siblings)}")
    kinds = (".npz", ".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz")
    kind = next((kind for kind in kinds if path.name.lower().endswith(kind)), None)
    if kind is None or path.is_dir():
        what = "it is a folder" if path.is_dir() else f"extension {path.suffix!r} is not known"
        raise ValueError(f"{path} cannot be read ({what}); give a file that ends in {', '.join(kinds)}")
    if not path.stat().st_size:
        raise ValueError(f"{path} is empty; write it again")
    return _read_npz(path, label) if kind == ".npz" else _read_table(path, kind, label, columns)


def _read_npz(path: Path, label: str | None) -> tuple[np.ndarray, np.ndarray | None]:
    with _one_line(path, "write plain arrays with numpy.savez"):
        zipfile.ZipFile(path).close()  # np.load would call anything else a pickle
        with np.load(path, allow_pickle=False) as archive:
            keys = archive.files
            label = label or next((key for key in ("y", "s") if key in keys), None)
            rows = next((key for key in ("X", "x") if key in keys), "X")
            arrays = {key: archive[key] for key in (rows, label) if key in keys}
    for key in filter(None, (rows, label)):
        if key not in keys:
            raise ValueError(f"{path} has no array {key!r}{_nearest(key, keys)} (it has {_some(keys)})")
    x, y = arrays[rows], arrays[label] if label else None
    if x.dtype.kind not in "buif" or x.ndim < 2 or not x.size:
        given = f"{rows!r} has shape {x.shape} and type {x.dtype}"
        raise ValueError(f"{path} cannot be used ({given}); give numbers, one row per example")
    if y is not None and y.shape[:1] != x.shape[:1]:
        given = f"{rows!r} has {len(x)} rows, {label!r} has shape {y.shape}"
        raise ValueError(f"{path} cannot be used ({given}); give one label per row")
    return x, y


def _read_table(
    path: Path, kind: str, label: str | None, columns: list[str] | None
) -> tuple[pd.DataFrame, np.ndarray | None]:
    import pandas as pd

    with _one_line(path, "write it again"):
        if kind == ".parquet":
            table = pd.read_parquet(path).reset_index(drop=True)
        else:  # low_memory would guess types piece by piece and mix 1 and "1" in one column
            table = pd.read_csv(path, low_memory=False, **_separated(path, kind))
    if not isinstance(table.index, pd.RangeIndex):  # pandas took the surplus column for row names
        raise ValueError(f"{path} has more fields in its rows than in its header; name every column")
    table.columns = table.columns.map(str)  # Parquet can hold numbers there; a model keeps names as text
    wanted = [*(columns or []), *([] if label is None else [label])]
    missing = [name for name in wanted if name not in table]
    if missing:
        hint = _nearest(missing[0], table) if len(missing) == 1 else ""
        what = f"no column{'s' * (len(missing) > 1)} {_some(missing)}"
        raise ValueError(f"{path} has {what}{hint} (it has {_some(table)})")
    if not len(table):
        raise ValueError(f"{path} has columns but no rows; write it again")
    y = None if label is None else _as_in_file(table.pop(label))
    if columns is None:
        table = _without_row_numbers(table, path)
    return _numbers(table if columns is None else table[columns], path), y


def _separated(path: Path, kind: str) -> dict[str, str]:
    """By commas; by semicolons where the header is, as spreadsheets of half of Europe write it, with decimal commas."""
    if ".tsv" in kind:
        return {"sep": "\t"}
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", errors="replace") as file:
        header, *rows = [file.readline() for _ in range(20)]
    if header.count(";") <= header.count(","):
        return {"sep": ","}
    return {"sep": ";", "decimal": "," if any(re.search(r"\d,\d", row) for row in rows) else "."}


def _without_row_numbers(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    """A nameless column of different whole numbers is pandas' index: in a sorted table it gives the labels away."""
    from pandas.api.types import is_integer_dtype

    odd = [c for c in table if c.startswith("Unnamed: ") and is_integer_dtype(table[c]) and table[c].is_unique]
    if odd:
        warnings.warn(f"{path} has a column without a name that numbers the rows; it is left out", stacklevel=4)
    return table.drop(columns=odd)


def _as_in_file(column: pd.Series) -> np.ndarray:
    from pandas.api.types import is_numeric_dtype

    if column.hasnans:  # nullable columns would give pandas.NA, which compares with nothing
        return column.to_numpy(float if is_numeric_dtype(column) else object, na_value=float("nan"))
    return column.to_numpy()


def _numbers(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    from pandas.api.types import infer_dtype, is_numeric_dtype

    if not len(table.columns):
        raise ValueError(f"{path} has no column besides the label; add the columns to learn from")
    as_objects = ("boolean", "decimal", "empty")  # booleans with gaps, and what Parquet alone can hold
    odd = [c for c in table if not is_numeric_dtype(table[c]) and infer_dtype(table[c]) not in as_objects]
    if odd:
        remedy = "drop or encode them (mixed tables are not read yet)"
        raise ValueError(f"{path} has columns that are not numeric, {_some(odd)}; {remedy}")
    return table.astype(float)


# ---- one line for every failure ----


def _checked(decode, folder: Path, name: str) -> np.ndarray:
    path = _file(folder, name)
    with _one_line(path, "delete it and run again"):
        return decode(path, name)


def _compare(content: bytes, md5: str) -> None:
    if hashlib.md5(content, usedforsecurity=False).hexdigest() != md5:
        raise ValueError("its content differs from the official release")


@contextmanager
def _one_line(what: str | Path | None, remedy: str, discard: Path | None = None):
    """Whatever a decoder raises on a damaged file becomes one line that names it."""
    try:
        yield
    except Exception as error:  # pickles, images and archives fail in more ways than can be listed
        if discard and not getattr(error, "errno", None):  # a full disk does not make a download wrong
            shutil.rmtree(discard) if discard.is_dir() else discard.unlink(missing_ok=True)
        raise ValueError(f"{what} cannot be used ({reason(error)}); {remedy}") from error


def _nearest(name: str, names: Iterable) -> str:
    close = difflib.get_close_matches(name, map(str, names), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _some(names: Iterable) -> str:
    names = [repr(str(name)) for name in names]
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
