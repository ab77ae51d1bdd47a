"""Reads a user's file for a command: rows, labels, and which label value marks the known positives."""

from __future__ import annotations

import shlex
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import datasets, kinds
from ..params import near
from .pictures import in_folder, in_table, named_in

if TYPE_CHECKING:
    import pandas as pd

POSITIVE = ("1", "1.0", "yes", "y", "true", "t", "positive", "pos")  # values that are likely to mark known positives


@dataclass(frozen=True)
class Own:
    """What a user's file or folder holds."""

    X: Any
    y: np.ndarray
    label: str  # the label column, or what stands for it
    images: datasets.Images | None = None  # with the name of each image and the files that could not be read


def read_rows(
    path: str | Path,
    label: str | None,
    *,
    images: str | None = None,
    labels: str | Path | None = None,
    size: int | None = None,
    strict: bool = False,
    id: str | None = None,
) -> Own:
    """Read a table, an array with its labels within or in a second file, a table of images, or a folder of them.

    In a text file, cells of the column `id` stay as they are written.
    """
    if labels is not None:
        return _with_labels(Path(path), label, labels)
    if datasets.is_image_folder(path):
        if label is not None:
            raise ValueError(f"{path} is a folder of images, whose folders are the labels; leave --label out")
        if images is not None:
            raise ValueError(f"{path} is a folder of images; --images is for a table that names them: leave it out")
        found = in_folder(path, size, strict)
        assert found.y is not None
        return Own(found.x, found.y, "positive/", found)
    if (column := images or named_in(path, label)) is not None:
        if label is None:
            raise ValueError(f"{path} needs a label column; add --label COLUMN (1 = known positive, 0 = unlabelled)")
        found = in_table(path, column, label, size, strict)
        assert found.y is not None
        return Own(found.x, plain_labels(found.y), label, found)
    if size is not None or strict:
        raise ValueError(f"--size and --strict are for images, and {path} holds none; leave them out")
    return Own(*_read_file(Path(path), label, () if id is None else (id,)))


def read_own(
    path: str | Path, label: str | None, id: str | None = None, sheet: str | None = None
) -> tuple[Any, np.ndarray, str]:
    """Return X, y and the name of the label column of a user's file. Cells of the column `id` stay as written."""
    with datasets.of_sheet(sheet, path):
        own = read_rows(path, label, id=id)
    return own.X, own.y, own.label


def _with_labels(path: Path, label: str | None, labels: str | Path) -> Own:
    if path.suffix.lower() not in (".npy", ".npz"):
        raise ValueError(f"--labels is for .npy and .npz files; name the label column of {path} with --label")
    if label is not None:
        raise ValueError("--label and --labels say the same; leave one out")
    X, _ = datasets.read(path)
    y = datasets.read_label_array(labels)
    if len(X) != len(y):
        raise ValueError(f"{path} has {len(X)} rows, but {labels} has {len(y)} labels; give one label per row")
    return Own(X, y, Path(labels).name)


def _read_file(path: Path, label: str | None, texts: tuple[str, ...]) -> tuple[Any, np.ndarray, str]:
    if label is None and path.suffix.lower() == ".npy" and path.expanduser().is_file():
        raise ValueError(
            f"{path} needs labels; add --labels FILE.npy, in Python labels='FILE.npy', with one label per row "
            "(1 = known positive, 0 = unlabelled)"
        )
    if label is None and path.suffix.lower() != ".npz" and path.expanduser().is_file():
        raise ValueError(
            f"{path} needs a label column; add --label COLUMN, in Python label='COLUMN' "
            "(1 = known positive, 0 or empty = unlabelled)"
        )
    X, y = datasets.read(path, label, texts=texts)
    y = None if y is None else plain_labels(y, label or "y")
    if y is None:
        raise ValueError(
            f"{path} holds no labels; add an array 'y' (1 = known positive, 0 = unlabelled), or name "
            "one with --label, in Python label="
        )
    return X, y, label or "y"


def plain_labels(y: np.ndarray, label: str = "y") -> np.ndarray:
    """Read blanks of every spelling as missing labels, and numbers written as text as numbers."""
    import pandas as pd

    y = kinds.plain_labels(y, f"column {kinds.short(label)}")

    from ..encode.cells import BLANKS  # encode needs scikit-learn, and a mistake is told before that is imported

    if y.dtype.kind not in "OU":
        return y
    texts = pd.Series(y, dtype=object).map(lambda v: v.strip() if isinstance(v, str) else v)
    texts = texts.mask(texts.map(lambda v: isinstance(v, str) and v.lower() in BLANKS), np.nan)
    there = texts.dropna()
    numbers = pd.to_numeric(there, errors="coerce")
    if len(there) and there.map(lambda v: isinstance(v, str)).all() and numbers.notna().all():
        return pd.to_numeric(texts).to_numpy(float)
    return _one_spelling(texts).to_numpy(object)


def _one_spelling(texts: pd.Series) -> pd.Series:
    """Read Yes, YES and yes as one value, that of most rows. A warning says so."""
    place: dict[str, str] = {}
    for text in texts.value_counts().index:
        if isinstance(text, str):
            place.setdefault(text.casefold(), text)
    same = texts.map(lambda v: place[v.casefold()] if isinstance(v, str) else v)
    changed = texts[(same != texts) & texts.notna()]
    if len(changed):
        warnings.warn(
            f"{len(changed):,} labels differ from others in capitals only, such as {changed.iloc[0]!r} from "
            f"{same[changed.index[0]]!r}; they count as the same",
            UserWarning,
            stacklevel=4,
        )
    return same


@dataclass(frozen=True)
class Labels:
    """The labels of a file, and which values mark what; None where a value leaves no doubt or is not used."""

    y: np.ndarray
    positive: Any
    negative: Any
    found: Any


def label_values(y: np.ndarray, label: str, positive: Any = None, negative: Any = None, found: Any = None) -> Labels:
    """Find the values of known positives, and of rows that a person looked at, as the column holds them.

    A column of 1, 0 and a word such as 'no' is read as text. Without the word its values are numbers again.
    """
    import pandas as pd

    values = _values(y)
    no, yes = (
        None if told is None else _value(values, label, told, name)
        for told, name in ((negative, "negative"), (found, "found"))
    )
    looked = np.array([value in (no, yes) and value is not None for value in y.tolist()], dtype=bool)
    if looked.any():
        rest = pd.Series(y[~looked], dtype=object)
        plain = pd.to_numeric(rest, errors="coerce")
        if plain.isna().sum() == rest.isna().sum():
            y = y.astype(object)
            y[~looked] = plain.to_numpy(float)
    return Labels(y, positive_value(y[~looked], label, positive), no, yes)


def positive_value(y: np.ndarray, label: str, told: Any) -> Any:
    """Return the value that marks known positives; None if 0/1, -1/1, true/false or blanks leave no doubt.

    Of two other values an estimator takes the second one, with a warning. For a file the user must say which.
    """
    values = _values(y)
    if told is not None:
        return _value(values, label, told, "positive")
    if 1 < len(values) < 10 and values not in ([0, 1], [-1, 1]):  # False is 0, True is 1
        rarest = min(values, key=lambda v: int((y == v).sum()))  # known positives are few
        likely = next((v for v in values if str(v).lower() in POSITIVE), rarest)
        options = f"--positive {shlex.quote(str(likely))} or, in Python, positive={likely!r}"
        raise ValueError(
            f"column {label!r} holds {_shown(values)}; say which one marks the known positives, such as {options}"
        )
    return None


def _values(y: np.ndarray) -> list[Any]:
    import pandas as pd

    present = y[~pd.isna(y)].ravel().tolist()
    return sorted(set(present), key=lambda v: (str(type(v)), v))


def _value(values: list[Any], label: str, told: Any, name: str) -> Any:
    """Return the value of the column that a user's text stands for."""
    spelt = str(told).strip().casefold()  # --positive true stands for True, and yes for YES
    same = [v for v in values if v == told]
    same += [v for v in values if str(v).casefold() == spelt or (isinstance(v, float) and f"{v:g}" == spelt)]
    if not same:
        hint, shown = near(told, values), _shown(values) or "nothing"
        raise ValueError(f"{name}={told} is not in column {label!r}, which holds {shown}{hint}")
    return same[0]


def _shown(values: list[Any]) -> str:
    return " and ".join(map(repr, values)) if len(values) < 4 else f"{len(values)} values such as {values[0]!r}"
