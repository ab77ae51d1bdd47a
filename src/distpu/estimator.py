"""PUClassifier: the scikit-learn face of every method. Input is checked here, once; the core trusts it."""

from __future__ import annotations

import platform
import threading
import zlib
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import sklearn
import torch
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import nn

from . import __version__, nets
from .files import checkpoint
from .files.folder import Row, finish, log_lines, open_folder, read_log
from .inputs import as_channels_first, layout_of, read_labels, refuse_infinite
from .params import check_parameters, param
from .prior import estimate_prior
from .progress import Bar, busy
from .train.data import PUData
from .train.device import PRECISIONS, Speed, arithmetic, as_tensor, find_device
from .train.loop import Recipe
from .train.run import Run
from .train.sampling import SAMPLINGS
from .train.scoring import logits


@dataclass(eq=False, repr=False, kw_only=True)
class PUClassifier(ClassifierMixin, BaseEstimator):
    """What all methods share. A method adds its own parameters and `_learn(run)`, which returns the trained network.

    `fit(X, y)` takes rows (numpy, pandas, polars or torch; 2-D, or images as NCHW or NHWC, uint8 or float) and PU
    labels: 1 for labelled positives, 0 (or -1, False, missing) for unlabelled rows. After it:

    prior_    share of positives among the unlabelled rows, given or estimated
    classes_  [the unlabelled value, the positive value], as in y
    history_  one dict per epoch: stage, epoch, the loss terms, the share of unlabelled rows predicted positive
    model_    the trained torch module: rows in, logits out
    """

    name: ClassVar[str]  # as in METHODS and on the command line
    paper: ClassVar[str]
    needs_prior: ClassVar[bool] = True
    keeps: ClassVar[str] = "last"  # which epoch: the last, or "pu", the best on held-out PU rows
    supervised: ClassVar[bool] = False  # y must hold true labels; for comparisons, no PU method
    presets: ClassVar[dict[str, dict[str, Any]]] = {}  # settings other than the defaults, by data set or "small"
    _observe: ClassVar[Any] = None  # for experiments: figures of each epoch's network that go into the log
    also_fitted: ClassVar[tuple[str, ...]] = ()  # numbers that `_learn` sets beside threshold_, saved with the model

    prior: float | str = param("auto", "share of positives among the unlabelled rows; 'auto' estimates it (BBE)")
    network: Any = param("auto", "'auto', 'mlp', 'cnn-13', 'resnet-50', or a callable that returns a torch module")
    scaling: str = param("auto", "what the network does to its input first", one_of=nets.SCALINGS)
    epochs: int = param(60, "passes over the rows", least=1)
    lr: float = param(5e-4, "initial learning rate of Adam; a cosine brings it to 0", above=0)
    weight_decay: float = param(5e-3, "L2 penalty on every parameter, BatchNorm and biases too", least=0)
    batch_size: int = param(256, "rows in a step", least=2)
    sampling: str = param("mixed", "labelled rows per batch: left to chance, or evenly spread", one_of=tuple(SAMPLINGS))
    pos_label: Any = param(None, "which of two label values marks the labelled positives, when it is not 1")
    device: str = param("auto", "'auto' (a GPU if there is one), 'cpu', 'cuda', 'cuda:1', 'mps'")
    precision: str = param("auto", "of training: 'auto' takes bfloat16 where it is fast and the network large; scores "
                           "are always float32", one_of=PRECISIONS)  # fmt: skip
    compile: str | bool = param("auto", "compile the network; 'auto': on a GPU, for runs that win back the time it "
                                "takes", one_of=("auto", True, False))  # fmt: skip
    capture: str | bool = param("auto", "record the step on a GPU and replay it; False: eager, to debug a method",
                                one_of=("auto", False))  # fmt: skip
    random_state: Any = param(None, "seed; the same seed gives the same bits on the same machine")
    progress: str | bool = param("auto", "progress bar: 'auto' shows one on a terminal", one_of=("auto", True, False))

    def _learn(self, run: Run) -> nn.Module:
        """The method: train on run.data and return the network that predicts."""
        raise NotImplementedError

    def _recipe(self, **changes: Any) -> Recipe:
        common = dict(epochs=self.epochs, lr=self.lr, weight_decay=self.weight_decay)
        return Recipe(**{**common, "batch_size": self.batch_size, "sampling": self.sampling, **changes})

    # ------------------------------------------------------------------ fit

    def fit(self, X: Any, y: Any, *, folder: str | Path | None = None) -> PUClassifier:
        """Learn from PU labels. With `folder`, the run is logged and saved there, and a killed one goes on."""
        return self._fit(X, y, folder)

    def _fit(self, X: Any, y: Any, folder: str | Path | None, **extra: Any) -> PUClassifier:
        """fit; a method whose own fit takes other row sets hands them on as `extra`, into run.data.extra."""
        self._check_parameters()
        x, s = self._check_data(X, y)
        sets = {name: self._check_rows(rows, reset=False) for name, rows in extra.items() if rows is not None}
        nets.check(self.network, self.scaling, self.shape_)  # a mistake shows before a folder is made
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        if folder is None:
            self._train(x, s, sets, None, seed)
            return self
        with open_folder(folder, self._config(x, s, sets, seed)) as (path, config, finished):
            if finished:
                self._restore(path)
            else:
                self._train(x, s, sets, path, config["seed"])
        return self

    def _train(self, x: np.ndarray, s: np.ndarray, sets: Arrays, folder: Path | None, seed: int) -> None:
        device = find_device(self.device)
        show = self.progress in ("auto", True)
        with busy(f"{self.name}: estimating the prior", show and self.prior == "auto"):
            self.prior_ = self._prior(x, s, folder)
        self.threshold_ = 0.0  # on the logit; a method may move it in _learn
        rows, extra = as_tensor(x), {name: as_tensor(array) for name, array in sets.items()}
        constants = nets.scaling_constants(self.scaling, rows, self.network)
        data = PUData(rows, torch.from_numpy(s).float(), self.prior_, extra).to(device)

        def build() -> nets.Network:
            return nets.Network(nets.body(self.network, self.shape_), *constants)

        devices = [device] if device.type == "cuda" else []
        with _TURN, arithmetic(self.precision, device), torch.random.fork_rng(devices=devices), Bar(self.name) as bar:
            torch.manual_seed(seed)
            speed = Speed(self.precision, self.compile, self.capture)
            job = Run(data, build, folder, bar if show else None, speed, self._observe)
            model = self._learn(job)
        self._keep(model.eval(), job.history)
        if folder:
            finish(folder, self.model_, self._fitted())

    def _keep(self, model: nn.Module, history: list[Row]) -> None:
        self.model_ = model.requires_grad_(False)
        model.zero_grad()  # frees the gradients
        self.history_ = history
        self.n_iter_ = len(history)

    def _uses_prior(self) -> bool:
        """Whether 'auto' must be estimated; asked where that hangs on a parameter too."""
        return self.needs_prior

    def _prior(self, x: np.ndarray, s: np.ndarray, folder: Path | None) -> float:
        if not self._uses_prior() and self.prior == "auto":
            return float("nan")
        if self.prior != "auto":
            return float(self.prior)
        known = folder / "prior.json" if folder else None  # a forest takes a while: not again after a kill
        if known and known.exists():
            return checkpoint.read_json(known, "prior")["prior"]
        prior = estimate_prior(x, s)
        if known:
            checkpoint.write_json(known, {"prior": prior})
        return prior

    # -------------------------------------------------------------- predict

    def decision_function(self, X: Any) -> np.ndarray:
        """Logit of being positive; above 0 is predicted positive."""
        check_is_fitted(self)
        x = self._check_rows(X, reset=False)
        device = next(self.model_.parameters()).device
        return self._decide(logits(self.model_, as_tensor(x), device).cpu().double().numpy())

    def _decide(self, z: np.ndarray) -> np.ndarray:
        """What the network's logits mean: positive from the threshold on."""
        return z - self.threshold_

    def predict_proba(self, X: Any) -> np.ndarray:
        """(n, 2): probability of [unlabelled value = negative, positive]."""
        p = expit(self.decision_function(X))
        return np.column_stack([1 - p, p])

    def predict(self, X: Any) -> np.ndarray:
        """The user's own label values: the positive one where the logit is at least 0."""
        z = self.decision_function(X)
        return self.classes_[(z >= 0).astype(int)]

    # -------------------------------------------------------- save and load

    def save(self, folder: str | Path) -> Path:
        """Write the fitted model into a folder of its own: JSON and safetensors, read back by `distpu.load`."""
        check_is_fitted(self)
        path = Path(folder)
        if path.is_file() or (path.exists() and any(path.iterdir())):
            raise ValueError(f"{path} {'is a file' if path.is_file() else 'is not empty'}; name a new folder")
        path.mkdir(parents=True, exist_ok=True)
        config = {
            "method": self.name,
            "params": self._plain_parameters(),
            "data": {},
            "versions": versions(),
        }
        checkpoint.write_json(path / "config.json", config)
        checkpoint.write(path / "metrics.jsonl", log_lines(self.history_).encode())
        finish(path, self.model_, self._fitted())
        return path

    def _fitted(self) -> Row:
        names = getattr(self, "feature_names_in_", None)
        return {
            "prior": self.prior_ if np.isfinite(self.prior_) else None,
            "threshold": self.threshold_,
            "classes": self.classes_.tolist(),
            "shape": list(self.shape_),
            "layout": self.layout_,
            "bytes": self.bytes_,
            "n_features_in": self.n_features_in_,
            "also": {name: getattr(self, name) for name in self.also_fitted},
            "feature_names_in": None if names is None else [str(n) for n in names],
        }

    def _restore(self, folder: Path) -> PUClassifier:
        """Take the fitted state from a finished run folder."""
        fitted = checkpoint.read_json(folder / "model.json", *FITTED)
        self.prior_ = float("nan") if fitted["prior"] is None else fitted["prior"]
        self.threshold_, self.layout_, self.bytes_ = fitted["threshold"], fitted["layout"], fitted["bytes"]
        self.classes_, self.shape_ = np.array(fitted["classes"]), tuple(fitted["shape"])
        self.n_features_in_ = fitted["n_features_in"]
        for name in self.also_fitted:
            setattr(self, name, fitted["also"][name])
        if fitted["feature_names_in"] is not None:
            self.feature_names_in_ = np.array(fitted["feature_names_in"], dtype=object)
        tensors, _ = checkpoint.load(folder / "model.safetensors")
        with torch.random.fork_rng(devices=[]):
            body = nets.body(self.network, self.shape_)
        try:
            model = nets.Network(body, tensors["mean"], tensors["scale"])
            model.load_state_dict(tensors)
        except (KeyError, RuntimeError):
            raise ValueError(
                f"the weights in {folder}/model.safetensors do not fit network={self.network!r} for rows of shape "
                f"{self.shape_}; pass the network it was trained with, or train into a new folder"
            ) from None
        self._keep(model.eval().to(find_device(self.device)), list(read_log(folder / "metrics.jsonl")))
        return self

    # --------------------------------------------------------------- checks

    def _check_parameters(self) -> None:
        check_parameters(self)
        find_device(self.device)

    def _check_data(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        if y is None:
            validate_data(self, X, y)  # raises, in scikit-learn's words
        x = self._check_rows(X, reset=True)
        s, self.classes_ = read_labels(y, self.pos_label)
        if len(s) != len(x):
            raise ValueError(f"X has {len(x)} rows, but y has {len(s)} labels; give one label per row")
        return x, s

    def _check_rows(self, X: Any, reset: bool) -> np.ndarray:
        """X as float32 or uint8, images as NCHW; remembers (reset) or enforces the shape of a row."""
        if isinstance(X, torch.Tensor):
            X = X.detach().cpu().numpy()
        shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape
        if not reset and (self.layout_ != "rows" or len(shape) > 2):
            self._check_shape(shape)  # scikit-learn would compare the second axis and call it features
        with np.errstate(over="ignore"):  # what is too large for float32 becomes infinite, and is named below
            x = validate_data(
                self,
                X,
                reset=reset,
                dtype=[np.float32, np.uint8],
                allow_nd=True,
                ensure_all_finite=False,
                ensure_min_samples=2 if reset else 1,
            )
        names = getattr(self, "feature_names_in_", None)
        refuse_infinite(x, names)
        if reset and x.ndim == 2 and self.scaling in ("auto", "standard"):
            nets.warn_of_far_values(x, names)
        if reset:
            self.layout_, self.bytes_ = layout_of(x.shape), x.dtype == np.uint8
        x = as_channels_first(x, self.layout_)
        if reset:
            self.shape_ = tuple(x.shape[1:])
        elif self.bytes_ and x.ndim == 4 and x.dtype != np.uint8 and x.size and x.max() <= 1:
            raise ValueError(
                "X holds images from 0 to 1, but the model was fitted on bytes from 0 to 255; multiply by 255"
            )
        return x

    def _check_shape(self, shape: tuple[int, ...]) -> None:
        channels, *size = self.shape_
        wanted = {"NHW": (*size,), "NHWC": (*size, channels)}.get(self.layout_, self.shape_)
        if tuple(shape[1:]) != wanted:
            raise ValueError(
                f"X holds rows of shape {tuple(shape[1:])}, but {type(self).__name__} was fitted on rows of shape "
                f"{wanted}; give rows of that shape"
            )

    def _config(self, x: np.ndarray, s: np.ndarray, sets: Arrays, seed: int) -> Row:
        data = {"rows": len(x), "shape": list(self.shape_), "labelled": int(s.sum())}
        data |= {"labels": zlib.crc32(s.tobytes()), "fingerprint": _fingerprint(x)}
        data |= {name: _fingerprint(rows) for name, rows in sets.items()}
        params = self._plain_parameters()
        return {"method": self.name, "params": params, "data": data, "seed": seed, "versions": versions()}

    def _plain_parameters(self) -> Row:
        """Parameters as JSON can hold them; what is code or a generator is named, not stored."""
        plain = {}
        for key, value in self.get_params(deep=False).items():
            if isinstance(value, np.generic):
                value = value.item()
            if callable(value):
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


# the keys of model.json, as _fitted writes them
FITTED = ("prior", "threshold", "classes", "shape", "layout", "bytes", "n_features_in", "also", "feature_names_in")
Arrays = dict[str, np.ndarray]
_TURN = threading.RLock()  # torch's random state belongs to the process: fits in several threads take turns


def _fingerprint(x: np.ndarray) -> int:
    """Tells one table from another by all of its rows: a model of last week's must not pass for this week's."""
    crc = 0
    for start in range(0, len(x), 4096):
        crc = zlib.crc32(x[start : start + 4096].tobytes(), crc)
    return crc


def versions() -> Row:
    return {
        "distpu": __version__,
        "torch": torch.__version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
    }


def load(folder: str | Path, network: Callable[..., nn.Module] | None = None, device: str = "auto") -> PUClassifier:
    """A fitted classifier from a run folder. Reads JSON and safetensors only: nothing in the folder is executed.

    A model with a network of the user's own needs that callable again, as `network`.
    """
    from .methods import METHODS

    path = Path(folder)
    if not (path / "config.json").exists():
        what = "is a file, not" if path.is_file() else "is not" if path.exists() else "does not exist; name"
        why = " (it holds no config.json)" if path.is_dir() else ""
        raise FileNotFoundError(f"{path} {what} a run folder{why}, such as distpu fit writes")
    if not (path / "done").exists():
        raise ValueError(f"{path} is not finished; run the same fit again and it goes on where it stopped")
    config = checkpoint.read_json(path / "config.json", "method", "params")
    if config["method"] not in METHODS:
        raise ValueError(
            f"{path} holds a model of method {config['method']!r}, which distpu {__version__} does not know; "
            f"use the version that trained it ({', '.join(METHODS)} are known)"
        )
    cls = METHODS[config["method"]]
    known = {f.name for f in fields(cls)}
    params = {k: v for k, v in config["params"].items() if k in known} | {"device": device}
    if str(params.get("network")).startswith("callable ") and network is None:
        raise ValueError(
            f"{path} holds a network of your own ({params['network'][9:]}); pass it: load(folder, network=...)"
        )
    if network is not None:
        params["network"] = network
    return cls(**params)._restore(path)
