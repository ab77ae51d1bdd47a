"""Encodes: the seam between a user's X and the rows that a method takes. A frame is encoded once, at the border."""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from ..files.atomic import REMEDY
from ..files.fitted import Fitted
from ..files.run_folder import RunFolder
from ..inputs import read_labels
from ..kinds import plain_rows, refuse_no_rows
from ..weights import read_weights
from .frames import as_pandas, is_frame, names_of, refuse_twice
from .table import TableEncoder


@dataclass(frozen=True)
class Encoded:
    """The rows of a table that an encoder has turned into numbers, such as a memory map. `fit` takes them as X."""

    x: np.ndarray
    encoder: TableEncoder

    @property
    def shape(self) -> tuple[int, ...]:
        return self.x.shape

    def __len__(self) -> int:
        return len(self.x)


class Encodes:
    """The part of PUEstimator that turns frames into numbers."""

    encode: Any  # a parameter
    pos_label: Any
    neg_label: Any
    found_label: Any
    encoder_: TableEncoder | None = None  # None where the rows were not encoded
    n_features_in_: int
    feature_names_in_: np.ndarray

    def _check_rows(self, X: Any, reset: bool) -> Any:
        raise NotImplementedError

    def _encodes(self) -> bool:
        """Return whether a frame is encoded. A method may leave that to the classifier inside."""
        return self.encode is not False

    def _first_rows(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Return the rows of a fit for `_train`. A frame's encoder becomes encoder_; it ignores rows of weight 0."""
        self.encoder_ = None
        if isinstance(X, Encoded):
            self.encoder_ = X.encoder
            return self._named(self._check_rows(X.x, reset=True))
        refuse_no_rows(X := plain_rows(X))
        if is_frame(X):
            refuse_twice(X)
        if not is_frame(X) or not self._encodes() or _pixels(X):
            return self._check_rows(X, reset=True)
        if 0 in X.shape or len(X) < 2:
            self._check_rows(X, reset=True)  # says what is wrong with the shape
        encoder = self._new_encoder()
        weight = read_weights(sample_weight, len(X))
        seen = None if weight is None or weight.all() else weight > 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what the labels lack or mean is told where they are read for good
            s = _labels(y, len(X), seen, self.pos_label, self.neg_label, self.found_label)
        s = None if getattr(self, "supervised", False) else s
        if seen is None:
            self.encoder_ = encoder.fit(X, s)
        else:
            self.encoder_ = encoder.fit(as_pandas(X).iloc[np.flatnonzero(seen)], None if s is None else s[seen])
        if encoder.plain_ and (seen is not None or _spans(X)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # rows that do not count may hold anything
                X = encoder.numbers(X).set_axis(_passed(X).columns, axis=1)
        if encoder.plain_:
            return self._check_rows(_passed(X), reset=True)
        with warnings.catch_warnings():
            # The sample may lack rare values. A user knows no encoded column, whose far values a method may warn of.
            warnings.simplefilter("ignore", UserWarning)
            return self._named(self._check_rows(encoder.transform(X), reset=True))

    def _named(self, rows: Any) -> Any:
        """Take the columns of the frame for those of the fit: a user knows no encoded column."""
        assert self.encoder_ is not None
        self.n_features_in_ = self.encoder_.n_features_in_
        self.feature_names_in_ = self.encoder_.feature_names_in_
        return rows

    def _rows(self, X: Any) -> Any:
        """Return rows to score as `_raw_scores` takes them."""
        encoder = self.encoder_
        refuse_no_rows(X := plain_rows(X))
        if encoder is None:
            return self._check_rows(X, reset=False)
        if encoder.plain_:
            if not is_frame(X):
                return self._check_rows(X, reset=False)
            X = _passed(X)
            if names_of(X) != list(encoder.feature_names_in_):
                return self._check_rows(X, reset=False)  # scikit-learn's words on the names
            return self._check_rows(encoder.numbers(X).set_axis(X.columns, axis=1), reset=False)
        inner: Any = copy.copy(self)  # its rows are the encoded ones, which have another width and no names
        inner.__dict__.pop("feature_names_in_", None)
        inner.n_features_in_ = encoder.width_
        return inner._check_rows(encoder.transform(X), reset=False)

    def _new_encoder(self) -> TableEncoder:
        """Return an unfitted encoder. A method that takes no NaN has its blanks filled."""
        made = clone(self.encode) if isinstance(self.encode, TableEncoder) else TableEncoder()
        if not self.__sklearn_tags__().input_tags.allow_nan:  # type: ignore[attr-defined]
            made.set_params(blanks="fill")
        return made


def check_encode(encode: Any) -> None:
    """Refuse what encode= may not be."""
    if not (isinstance(encode, (bool, TableEncoder)) or (isinstance(encode, str) and encode == "auto")):
        raise ValueError(f"encode={encode!r} must be 'auto', False or a TableEncoder(...)")


def read_encoder(folder: RunFolder, fitted: Fitted) -> TableEncoder:
    """Return the encoder of a model folder."""
    try:
        encoder = TableEncoder.from_state(*folder.encoder())
        names = list(encoder.feature_names_in_)
        if encoder.width_ != fitted.encoded or fitted.feature_names_in not in (None, names):
            raise ValueError(f"it is of other columns than {RunFolder.MODEL}")
    except ValueError as error:
        told = "" if str(folder.path) in str(error) else f"{folder.path / RunFolder.ENCODER}: "
        remedy = "" if REMEDY in str(error) else f"; {REMEDY}"
        raise ValueError(f"{told}{error}{remedy}") from None
    return encoder


def _labels(y: Any, rows: int, seen: Any, positive: Any, negative: Any, found: Any) -> np.ndarray | None:
    """Return s for the encoder; None if the labels are wrong, which is told later."""
    try:
        s = read_labels(y, positive, seen, negative, found)[0]
    except (ValueError, TypeError):
        return None
    return s if len(s) == rows else None


def _passed(X: Any) -> Any:
    return as_pandas(X) if type(X).__module__.split(".")[0] == "pyarrow" else X


def _spans(X: Any) -> bool:
    """Whether a frame holds time spans, which an encoder counts in seconds."""
    X = _passed(X)
    dtypes = (X.infer_objects() if hasattr(X, "infer_objects") else X).dtypes
    return any(str(dtype).lower().startswith(("timedelta", "duration")) for dtype in dtypes)


def _pixels(X: Any) -> bool:
    """Whether a frame holds bytes only: pixels, which a network scales by itself."""
    return (
        all(str(dtype).lower() == "uint8" for dtype in getattr(X, "dtypes", ["-"])) if hasattr(X, "dtypes") else False
    )
