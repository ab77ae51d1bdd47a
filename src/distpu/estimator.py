"""PUEstimator: what every method has. It checks the input once, so that no method has to. No torch."""

from __future__ import annotations

import copy
import platform
import sys
import zlib
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import _safe_indexing as take
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from . import __version__
from .datasets.draw import folds
from .encode.rows import Encodes, check_encode, read_encoder
from .files.atomic import REMEDY
from .files.fitted import Fitted
from .files.run_folder import Json, RunFolder
from .files.scratch import in_parts
from .inputs import read_labels
from .looked import refuse as refuse_looked
from .looked import share_before
from .notebook import Shown
from .params import check_parameters, paper_value, param
from .prior import Estimate, check_prior, estimated, inside_unit, is_number
from .progress import busy
from .threshold import Cuts, FittedCut, read_choice
from .weights import counted, read_weights, refuse, total

Self = TypeVar("Self", bound="PUEstimator")
HELD_OUT = 5  # one row in so many is held out of training for calibrate=True, in a method that has no such rows anyway
# parameters that configs of version 0.1 do not have
ADDED = {"threshold": "auto", "calibrate": "auto", "validation_fraction": 0.0, "views": "none", "pretrained": None}
ADDED |= {"encode": "auto", "neg_label": None, "found_label": None, "shuffle": "auto"}
ADDED |= {"spies": 4, "rise": 0}
ADDED |= {"level": False, "reliable": "spy", "neighbours": 10, "convergence": "auto", "guard": 0.05}


@dataclass(eq=False, repr=False, kw_only=True)
class PUEstimator(Shown, Encodes, Cuts, ClassifierMixin, BaseEstimator):
    """What all methods share. A method adds its own parameters and `_learn`.

    `fit(X, y)` takes rows and PU labels: 1 for labelled positives, 0 (or -1, False, missing) for unlabelled rows.
    `fit` sets:

    prior_           share of positives among the unlabelled rows, given or estimated
    prior_interval_  (low, high) of the estimate; None where the prior was given or is the method's own
    prior_estimate_  the estimate with its estimator's name; None where there is no interval
    threshold_       where the method itself cuts its raw scores
    cut_             held-out scores, the calibration and the cut that was chosen; None without held-out rows
    classes_         [the unlabelled value, the positive value], as in y
    encoder_         the TableEncoder of a data frame; None where X held numbers in an array
    """

    name: ClassVar[str]  # the name in METHODS and on the command line
    paper: ClassVar[str]
    needs_prior: ClassVar[bool] = True
    keeps: ClassVar[str] = "last"  # the epoch kept: "last", or "pu" for the best on held-out PU rows
    supervised: ClassVar[bool] = False  # no PU method: y must hold true labels; for comparisons
    presets: ClassVar[dict[str, dict[str, Any]]] = {}  # settings other than the paper's, by preset name
    trains_network: ClassVar[bool] = False
    also_fitted: ClassVar[tuple[str, ...]] = ()  # numbers besides threshold_ that `_learn` sets and a folder stores
    takes_weights: ClassVar[bool] = False  # whether fit takes sample_weight; such a method scores held-out rows itself
    takes_negatives: ClassVar[bool] = False  # whether it can use rows that a person looked at
    _weight: ClassVar[Any] = None  # of each row of a fit, while it lasts
    # whether training itself gives scores of rows that the models did not see: `_train` puts them into `_held_out`,
    # NaN where a row has none
    scores_held_out: ClassVar[bool] = False

    prior: Any = param("auto", "share of positives among the unlabelled rows: a number, 'auto', the name of an "
                       "estimator such as 'dedpul', or an object with fit and prior_")  # fmt: skip
    threshold: Any = param("auto", "which rows are called positive: 'auto' (the method's own cut), 'prior', 'half', a "
                           "probability such as 0.3, 'precision=0.9', 'recall=0.8', 'cost=5' (a missed positive costs "
                           "5 false alarms), or 'rows=100'")  # fmt: skip
    calibrate: Any = param("auto", "probabilities from held-out rows: 'auto' if the method has such rows anyway or "
                           "the threshold needs them; True may hold out a fifth of the rows for it; or False",
                           one_of=("auto", True, False))  # fmt: skip
    encode: Any = param("auto", "data frames: 'auto' turns categories, dates, texts and blanks into numbers, False "
                        "takes them as they are, or a TableEncoder(...) of your own")  # fmt: skip
    pos_label: Any = param(None, "the label value of the labelled positives, if it is not 1")
    neg_label: Any = param(None, "the label value of rows that a person looked at and found not to be positive")
    found_label: Any = param(None, "the label value of rows that a person looked at, since a model ranked them high, "
                             "and found positive: no random draw, so they teach but do not count for the "
                             "prior")  # fmt: skip
    random_state: Any = param(None, "seed; the same seed gives the same bits on the same machine")
    progress: str | bool = param("auto", "progress bar: 'auto' shows one on a terminal", one_of=("auto", True, False))

    def __post_init__(self) -> None:
        """Refuse a class without @dataclass before it trains: its own settings would be ignored."""
        how = "@dataclass(eq=False, repr=False, kw_only=True)"
        for cls in type(self).__mro__:
            hints = vars(cls).get("__annotations__", {})
            bare = [name for name, hint in hints.items() if "ClassVar" not in str(hint) and not name.startswith("_")]
            if issubclass(cls, PUEstimator) and bare and "__dataclass_fields__" not in vars(cls):
                raise TypeError(f"{cls.__name__} has the setting {bare[0]!r} but no decorator; write {how} above it")
        if type(self).__hash__ is None:
            raise TypeError(f"{type(self).__name__} has a decorator without eq=False; write {how} above it")

    # ---------------------------------------- what a kind of method implements

    def _check_rows(self, X: Any, reset: bool) -> Any:
        """Return X as `_train` needs it. `reset` stores the shape of a row; else it is compared."""
        raise NotImplementedError

    def _train(self, rows: Any, s: np.ndarray, sets: dict[str, Any], folder: RunFolder | None, seed: int) -> None:
        """Learn, and set what `_raw_scores` and `_decide` need. A folder keeps what a resume needs."""
        raise NotImplementedError

    def _raw_scores(self, rows: Any) -> np.ndarray:
        """Return the method's own scores of checked rows."""
        raise NotImplementedError

    def _write_model(self, folder: RunFolder) -> None:
        """Write the model file of a folder, without pickle."""
        raise NotImplementedError

    def _read_model(self, folder: RunFolder) -> None:
        raise NotImplementedError

    def _kind(self) -> Json:
        """Return the fields of Fitted that only this kind of method has."""
        return {}

    def _take_kind(self, fitted: Fitted) -> None:
        pass

    def _resolved(self: Self, rows: Any) -> Self:
        """Return a copy that learns. Settings that the user left at None have the preset's values in it."""
        return copy.copy(self)

    # ------------------------------------------------------------------ fit

    def fit(self: Self, X: Any, y: Any, *, folder: str | Path | None = None, **refused: Any) -> Self:
        """Learn from PU labels; a finished `folder` is restored instead of trained.

        With `folder`, the run is logged and saved there. If a run is killed, call the same fit again: the run continues
        from its last checkpoint. A folder made with other parameters or other data is refused.
        """
        refuse(self.name, refused)
        return self._fit(X, y, folder)

    def _fit(self: Self, X: Any, y: Any, folder: str | Path | None, sample_weight: Any = None, **extra: Any) -> Self:
        """Do what fit does. A method whose own fit takes further row sets passes them as `extra`."""
        self._check_parameters()
        rows, s, weight = self._check_data(X, y, sample_weight)
        sets = {name: self._rows(more) for name, more in extra.items() if more is not None}
        learner = self._resolved(rows)  # fit must leave the parameters as the user gave them
        learner._check_learner()
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        learner._learn_from(rows, s, weight, sets, None if folder is None else RunFolder(folder), seed)
        return self._take_fitted(learner)

    def _learn_from(
        self, rows: Any, s: np.ndarray, weight: Any, sets: dict[str, Any], folder: RunFolder | None, seed: int
    ) -> None:
        """Train, or restore a finished folder."""
        if folder is None:
            self._train_and_calibrate(rows, s, weight, sets, None, seed)
            return
        with folder.opened(self._config(rows, s, weight, sets, seed)) as (config, finished):
            if finished:
                self._restore(folder)
            else:
                self._train_and_calibrate(rows, s, weight, sets, folder, config["seed"])
                self._finish(folder)

    def _take_fitted(self: Self, other: PUEstimator) -> Self:
        """Take over what another estimator has learnt."""
        for name, value in vars(other).items():
            if name.endswith("_") and not name.startswith("_"):
                setattr(self, name, value)
        return self

    def _train_and_calibrate(
        self, rows: Any, s: np.ndarray, weight: Any, sets: dict[str, Any], folder: RunFolder | None, seed: int
    ) -> None:
        if weight is not None and not weight.all():
            seen = np.flatnonzero(weight)
            rest = read_weights(weight[seen], len(seen))
            self._train_and_calibrate(take(rows, seen), s[seen], rest, sets, folder, seed)
            self._place(rows, seen)
            return
        self._weight = weight  # type: ignore[misc]
        self.cut_ = None
        self._take_estimate(None)  # a method that estimates its own prior has no other estimate
        if not self._calibrates():
            self._train(rows, s, sets, folder, seed)
            return
        if self.scores_held_out:
            self._train(rows, s, sets, folder, seed)
            score, label = self._held_out, s
            del self._held_out
        else:
            held = self._rows_to_hold_out(rows, s, seed)
            self._train(take(rows, np.flatnonzero(~held)), s[~held], sets, folder, seed)
            score, label = self._raw_scores(take(rows, np.flatnonzero(held))), s[held]
        known = ~np.isnan(score)
        score, label = score[known], label[known]
        if not (label == 1).any() or not (label == 0).any():
            self._refuse_too_few()
            return
        if not np.isfinite(self.prior_):
            self._take_estimate(found := self._estimated(rows, s))
            self.prior_ = found.prior
        told = is_number(self.prior)  # some methods go on from it to a prior of their own
        prior = inside_unit(float(self.prior if told else self.prior_), s)
        z, called = self._calibrated_on(score), self._decide(score) >= 0
        i = counted(z, label, None if weight is None else weight[known])
        first = share_before(prior, s, weight)
        self.cut_ = FittedCut.fit(z[i], label[i], called[i], prior, self.threshold, total(weight, s == 0), first)

    def _place(self, rows: Any, seen: np.ndarray) -> None:
        """Give what has a value for each row of a fit one for each of these rows. The fit has seen only some."""

    def _calibrates(self) -> bool:
        """Return whether held-out rows give probabilities and the cut."""
        if self.calibrate != "auto":
            return bool(self.calibrate)
        return self.scores_held_out or read_choice(self.threshold).kind != "auto"

    def _rows_to_hold_out(self, rows: Any, s: np.ndarray, seed: int) -> np.ndarray:
        """Return a mask of the rows to calibrate on. Equal rows are on one side: a model knows a row it was given."""
        held = folds(self._row_keys(rows), s, HELD_OUT, seed) == 0
        if any(len(np.unique(part)) < 2 for part in (s[held], s[~held])):
            self._refuse_too_few()
        return held

    def _refuse_too_few(self) -> None:
        """Refuse what a user asked for and few rows cannot give. Calibration that nobody asked for is left out."""
        if self.calibrate is True or self.threshold != "auto":
            raise ValueError(
                f"calibrate={self.calibrate!r} with threshold={self.threshold!r} needs rows to hold out: at least 2 "
                "different labelled positives and 2 different unlabelled rows; leave both out, or add rows"
            )

    def _row_keys(self, rows: Any) -> np.ndarray:
        """Return an array whose rows are equal where the rows are equal."""
        return np.asarray(rows)

    def _check_learner(self) -> None:
        """Refuse settings that do not suit the data, before a folder is made."""

    def _uses_prior(self) -> bool:
        """Return whether prior='auto' must be estimated. A method may decide by a parameter."""
        return self.needs_prior

    def _find_prior(self, rows: Any, s: np.ndarray, folder: RunFolder | None) -> float:
        """Return the prior as a number: given or estimated. NaN: nothing was told, and the method finds its own."""
        self._take_estimate(None)
        if is_number(self.prior):
            return float(self.prior)
        if self.prior == "auto" and not self._uses_prior():
            return float("nan")
        known = folder.prior() if folder else None  # a resumed run must not spend the time of the estimate twice
        found = None if known is None else Estimate.from_json(known)
        if found is None:
            with busy(f"{self.name}: estimating the prior", self.progress in ("auto", True)):
                found = self._estimated(rows, s)
            if folder:
                folder.keep_prior(found.to_json())
        self._take_estimate(found)
        return found.prior

    def _estimated(self, rows: Any, s: np.ndarray) -> Estimate:
        return estimated(self.prior, rows, s)

    def _take_estimate(self, found: Estimate | None) -> None:
        self.prior_estimate_, self.prior_interval_ = found, None if found is None else found.interval

    # -------------------------------------------------------- save and load

    def save(self, folder: str | Path) -> Path:
        """Write the fitted model into a new folder, without pickle. `distpu.load` reads it back."""
        check_is_fitted(self)
        config = {"method": self.name, "params": self._plain_parameters(), "data": {}, "versions": versions()}
        with RunFolder.new(Path(folder)) as run_folder:
            run_folder.keep_config(config)
            self._write_history(run_folder)
            self._finish(run_folder)
        return Path(folder)

    def _write_history(self, folder: RunFolder) -> None:
        """Write the log, if the method has one."""

    def _finish(self, folder: RunFolder) -> None:
        self._write_model(folder)
        if self.encoder_ is not None:
            folder.keep_encoder(*self.encoder_.to_state())
        folder.finish(self._fitted())

    def _fitted(self) -> Fitted:
        names = getattr(self, "feature_names_in_", None)
        return Fitted(
            prior=self.prior_ if np.isfinite(self.prior_) else None,
            threshold=self.threshold_,
            classes=self.classes_.tolist(),
            n_features_in=getattr(self, "n_features_in_", None),
            also={name: getattr(self, name) for name in self.also_fitted},
            feature_names_in=None if names is None else [str(n) for n in names],
            estimate=None if self.prior_estimate_ is None else self.prior_estimate_.to_json(),
            cut=None if self.cut_ is None else self.cut_.as_json(),
            encoded=None if self.encoder_ is None else self.encoder_.width_,
            **self._kind(),
        )

    def _restore(self: Self, folder: RunFolder) -> Self:
        """Read the fitted state from a finished run folder."""
        fitted = folder.fitted(self.also_fitted, self.trains_network)
        self.prior_ = float("nan") if fitted.prior is None else fitted.prior
        self._take_estimate(None if fitted.estimate is None else Estimate.from_json(fitted.estimate))
        self.threshold_, self.classes_ = fitted.threshold, np.array(fitted.classes)
        if fitted.n_features_in is not None:
            self.n_features_in_ = fitted.n_features_in
        for name in self.also_fitted:
            setattr(self, name, fitted.also[name])
        if fitted.feature_names_in is not None:
            self.feature_names_in_ = np.array(fitted.feature_names_in, dtype=object)
        try:
            self.cut_ = None if fitted.cut is None else FittedCut.from_json(fitted.cut)
        except ValueError as error:
            raise ValueError(f"{folder.path / RunFolder.MODEL}: cut: {error}; {REMEDY}") from None
        self._take_kind(fitted)
        self.encoder_ = None if fitted.encoded is None else read_encoder(folder, fitted)
        self._read_model(folder)
        return self

    def _with_network(self, network: Any, path: Path) -> None:
        """Take the user's own network when a folder is loaded. Most methods train none."""
        if network is not None:
            raise ValueError(f"{path} holds {self.name}, which trains no network; leave network= out")

    # --------------------------------------------------------------- checks

    def _check_parameters(self) -> None:
        check_parameters(self)
        check_prior(self.prior)
        check_encode(self.encode)
        choice = read_choice(self.threshold)
        if choice.kind != "auto" and self.calibrate is False:
            raise ValueError(f"threshold={self.threshold!r} needs held-out rows, but calibrate=False; leave that out")
        if self.supervised and self._calibrates():
            raise ValueError(f"{self.name} learns from true labels; leave threshold= and calibrate= out")

    def _check_data(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Any, np.ndarray, np.ndarray | None]:
        """Return the rows, their labels s and their weights. A row of weight 0 is unlabelled, whatever y says."""
        if y is None:
            validate_data(self, X, y)  # raises scikit-learn's own message
        rows = self._first_rows(X, y, sample_weight)
        weight = read_weights(sample_weight, rows.shape[0])
        s, self.classes_ = read_labels(
            y, self.pos_label, None if weight is None else weight > 0, self.neg_label, self.found_label
        )
        if len(s) != rows.shape[0]:
            raise ValueError(f"X has {rows.shape[0]} rows, but y has {len(s)} labels; give one label per row")
        if not self.takes_negatives:
            refuse_looked(self.name, s, self.neg_label, self.found_label)
        return rows, s, weight

    def _config(self, rows: Any, s: np.ndarray, weight: Any, sets: dict[str, Any], seed: int) -> Json:
        data = {"rows": rows.shape[0], "shape": list(rows.shape[1:]), "labelled": int((s == 1).sum())}
        data |= {"labels": zlib.crc32(np.ascontiguousarray(s).data), "fingerprint": self._fingerprint(rows)}
        data |= {} if weight is None else {"weights": zlib.crc32(weight.tobytes())}
        data |= {name: self._fingerprint(more) for name, more in sets.items()}
        params = self._plain_parameters()
        return {"method": self.name, "params": params, "data": data, "seed": seed, "versions": versions()}

    def _fingerprint(self, rows: Any) -> int:
        """Return a checksum of all rows, so that last week's folder is not restored for this week's table."""
        crc = 0
        for part in in_parts(rows, 4096):
            crc = zlib.crc32(part.tobytes(), crc)
        return crc

    def _plain_parameters(self) -> Json:
        """Return the parameters as JSON can hold them. Code and random generators are named, not stored."""
        plain = {}
        for key, value in self.get_params(deep=False).items():
            if key in ADDED and type(value) is type(ADDED[key]) and value == ADDED[key]:
                if paper_value(type(self).__dataclass_fields__[key]) == value:  # else a reader would take the default
                    continue
            if isinstance(value, np.generic):
                value = value.item()
            if isinstance(value, BaseEstimator):
                value = " ".join(repr(value).split())
            elif callable(value):
                value = f"callable {getattr(value, '__module__', '')}.{getattr(value, '__qualname__', repr(value))}"
            elif not isinstance(value, (str, int, float, bool, type(None))):
                value = type(value).__name__
            plain[key] = value
        return plain

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.non_deterministic = self.random_state is None
        return tags


def versions() -> Json:
    """Return the versions of the packages that made a result."""
    found = {"distpu": __version__}
    for package in ("torch", "scikit-learn", "numpy"):
        module = sys.modules.get({"scikit-learn": "sklearn"}.get(package, package))
        try:
            found[package] = getattr(module, "__version__", None) or version(package)
        except PackageNotFoundError:
            continue
    return {**found, "python": platform.python_version(), "machine": f"{platform.system()} {platform.machine()}"}
