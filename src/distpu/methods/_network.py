"""NetworkMethod: the base of methods that train a network. A method adds its settings and `_learn(run)`."""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.utils.validation import validate_data
from torch import nn

from .. import nets
from ..estimator import PUEstimator
from ..files.fitted import Fitted
from ..files.run_folder import Json, RunFolder
from ..files.scratch import forgetting, mapped
from ..inputs import as_channels_first, layout_of, refuse_infinite
from ..kinds import refuse_no_numbers
from ..params import near, param, resolved, tuned
from ..prior import ON_SCORES, Estimate, estimated_from_scores, named
from ..progress import Bar, tell
from ..train import launch, parallel
from ..train.checkpoint import restored
from ..train.copy import of_ranks
from ..train.data import PUData
from ..train.device import PRECISIONS, Speed, arithmetic, as_tensor, find_device
from ..train.loop import Epoch, Recipe
from ..train.run import Run
from ..train.sampling import SAMPLINGS
from ..train.scoring import logits
from ..train.validation import Validation, held_out
from ..train.views import check_views, views_for
from ._first_pass import scores_by_halves

ON_DISK = 2**31  # bytes of a memory map from which an epoch is shuffled by blocks: a smaller one stays in memory
SMALL = 20_000  # with fewer rows, preset="auto" takes the preset "small" of a method that has one
_TURN = threading.RLock()  # fits in several threads take turns, because they share torch's random state


def auto_preset(cls: type[PUEstimator], shape: tuple[int, ...], rows: int, device: str = "") -> str:
    """Return the preset that preset="auto" takes.

    This is 'small' for fewer than SMALL rows of a shape that the MLP takes, if the method has it, 'cpu' for other
    images on a CPU, else 'paper'.
    """
    if nets.auto_network(shape) == "mlp":
        return "small" if "small" in cls.presets and rows < SMALL else "paper"
    return "cpu" if device == "cpu" else "paper"


@dataclass(eq=False, repr=False, kw_only=True)
class NetworkMethod(PUEstimator):
    """A method that trains a network.

    `fit` takes rows (numpy, pandas, polars or torch; 2-D, or images as NCHW or NHWC, uint8 or float). It also sets:

    history_   one dict per epoch: stage, epoch, the loss terms, the share of unlabelled rows predicted positive
    model_     the trained torch module: rows in, logits out
    preset_    the preset that was taken
    settings_  the settings that training used: those of the user, and those of the preset
    """

    trains_network = True
    # what preset="cpu" gives in every method, beside its own: the paper's networks take hours for some thousand images
    on_a_cpu: ClassVar[dict[str, Any]] = {"network": "resnet-8"}
    preparing: ClassVar[tuple[str, ...]] = ()  # beginnings of the names of stages that do not learn to predict
    _observe: ClassVar[Any] = None  # for experiments: adds metrics of each epoch's network to the log

    preset: str = param("auto", "the source of settings left at None: 'paper', another preset of the method, or "
                        "'auto': 'small' for tables below 20,000 rows if the method has it, 'cpu' for images without "
                        "a GPU, else 'paper'")  # fmt: skip
    network: Any = param("auto", "'auto', 'mlp', 'cnn-13', 'resnet-8', 'resnet-18', 'preact-resnet-18', 'resnet-50', "
                         "'timm:NAME', 'torchvision:NAME', or a callable that returns a torch module")  # fmt: skip
    pretrained: str | None = param(None, "a .safetensors file with weights of the network, to start training from; a "
                                   "last layer of another shape is left out")  # fmt: skip
    scaling: str = param("auto", "how the network scales its input", one_of=nets.SCALINGS)
    epochs: int = tuned(60, "passes over the rows", least=1, search=(3, 100, "log"))
    lr: float = tuned(5e-4, "initial learning rate of Adam; a cosine brings it to 0", above=0,
                     search=(1e-5, 1e-2, "log"))  # fmt: skip
    rise: int = tuned(0, "epochs at the start of each stage in which the rate rises linearly from 0, step by step",
                      least=0)  # fmt: skip
    weight_decay: float = tuned(5e-3, "L2 penalty on every parameter, BatchNorm and biases too", least=0,
                               search=(1e-6, 0.1, "log"))  # fmt: skip
    batch_size: int = tuned(256, "rows in a step", least=2)
    sampling: str = tuned("mixed", "labelled rows in a batch: left to chance ('mixed'), spread evenly ('stratified'), "
                          "or a fixed number in each ('paired')", one_of=tuple(SAMPLINGS))  # fmt: skip
    shuffle: str = param("auto", "what an epoch shuffles: 'rows', or 'blocks' of neighbouring rows, which suits rows "
                         "on disk; 'auto': 'blocks' for a memory map of more than 2 GiB",
                         one_of=("auto", "rows", "blocks"))  # fmt: skip
    views: Any = param("none", "random views of the images that the network is trained on: 'none', 'auto' by the kind "
                       "of images (shifts, flips; tables have none), or a function of a batch")  # fmt: skip
    validation_fraction: float = param(
        0.0,
        "share of the rows that is held out of training; the epoch of highest PU accuracy on them is kept; 0 keeps the "
        "last epoch",
        least=0,
        most=0.5,
    )
    device: str = param("auto", "'auto' (a GPU if there is one), 'cpu', 'cuda', 'cuda:1', 'mps'")
    precision: str = param("auto", "precision of training: 'auto' takes bfloat16 for a large network if that is fast; "
                           "scores are always float32", one_of=PRECISIONS)  # fmt: skip
    compile: str | bool = param("auto", "whether to compile the network: 'auto' does so on a GPU for runs long "
                                "enough to win back the time it takes", one_of=("auto", True, False))  # fmt: skip
    capture: str | bool = param("auto", "'auto' records the step on a GPU and replays it; False runs steps eagerly, "
                                "to debug a method", one_of=("auto", False))  # fmt: skip

    @property
    def keeps(self) -> str:  # type: ignore[override]
        return "pu" if self.validation_fraction else "last"

    def _learn(self, run: Run) -> nn.Module:
        """Train on run.data and return the network that predicts. This is the method."""
        raise NotImplementedError

    def _recipe(self, **changes: Any) -> Recipe:
        common = dict(epochs=self.epochs, lr=self.lr, rise=self.rise, weight_decay=self.weight_decay)
        return Recipe(**{**common, "batch_size": self.batch_size, "sampling": self.sampling, **changes})

    # ------------------------------------------------------------------ fit

    def _resolved(self, rows: np.ndarray) -> NetworkMethod:
        return self._with_preset(self.preset_for(len(rows)))

    def _with_preset(self, preset: str) -> NetworkMethod:
        """Return a copy in which the preset's values replace the settings left at None."""
        whole = copy.copy(self)
        whole.preset = whole.preset_ = preset
        whole.settings_ = resolved(type(self), preset, self.get_params(deep=False))
        return whole.set_params(**whole.settings_)

    def preset_for(self, rows: int) -> str:
        """Return the preset that fit takes for so many rows. The shape of a row must be known."""
        if self.preset != "auto":
            return self.preset
        return auto_preset(type(self), self.shape_, rows, find_device(self.device).type)

    def _check_learner(self) -> None:
        nets.check(self.network, self.scaling, self.shape_)
        if self.pretrained is not None:
            with torch.random.fork_rng(devices=[]):  # a file that does not fit shows before anything is estimated
                tell(nets.load_weights(nets.body(self.network, self.shape_), self.pretrained))

    def _learn_from(
        self, rows: Any, s: np.ndarray, weight: Any, sets: dict[str, Any], folder: RunFolder | None, seed: int
    ) -> None:
        if launch.size() > 1:
            parallel.join(find_device(self.device))
            told = {**self._config(rows, s, weight, sets, seed), "seed": None}  # random_state=None: each has its own
            parallel.check_same(json.dumps(told, sort_keys=True), "other rows, labels, settings or versions")
            seed = parallel.from_first(lambda: seed)
            if self.compile is True:
                raise ValueError(f"compile=True is for one rank, but {launch.size()} train; leave it at 'auto'")
            self.progress = self.progress if launch.first() else False
            folder = None if folder is None else of_ranks(folder)
        super()._learn_from(rows, s, weight, sets, folder, seed)

    def _train(
        self, rows: np.ndarray, s: np.ndarray, sets: dict[str, np.ndarray], folder: RunFolder | None, seed: int
    ) -> None:
        device = find_device(self.device)
        show = self.progress in ("auto", True)
        self.prior_ = self._find_prior(rows, s, folder)
        self.threshold_ = 0.0  # a cut of the logit; a method may move it in _learn
        validation = None
        if self.validation_fraction:
            held = held_out(rows, s, self.validation_fraction, seed)
            validation = Validation(as_tensor(rows[held]), s[held], self.preparing)
            rows, s = rows[~held], s[~held]
        x, extra = as_tensor(rows), {name: as_tensor(array) for name, array in sets.items()}
        on_disk = mapped(rows)
        build, views = self._builder(x, forgetting(on_disk)), views_for(self.views, rows)
        blocks = self.shuffle == "blocks" or (self.shuffle == "auto" and on_disk is not None and x.nbytes > ON_DISK)
        data = PUData(x, torch.from_numpy(s).float(), self.prior_, extra, blocks, forgetting(on_disk)).to(device)

        def report(stage: str, epoch: Epoch) -> None:  # the bar has room for the sum of the terms only
            note = f"loss {sum(epoch.terms.values()):.4f}"
            bar.update(f"{self.name} {stage}", epoch.number + 1, epoch.of, note)

        devices = [device] if device.type == "cuda" else []
        own_random_state = torch.random.fork_rng(devices=devices)
        with _TURN, arithmetic(self.precision, device), own_random_state, parallel.together(), Bar(show) as bar:
            torch.manual_seed(seed)
            job = Run(data, build, folder, report, self._speed(), self._observe, validation, views)
            if show and not (folder and folder.newest_checkpoint()):
                tell(job.expected_time(self._passes(), self.batch_size))
            model = self._learn(job)
        self._keep(model.eval(), job.history)

    def _builder(self, x: torch.Tensor, forget: Callable[[], None] = lambda: None) -> Callable[[], nets.Network]:
        """Return a function that makes a fresh network, which scales its input by these rows."""
        constants = nets.scaling_constants(self.scaling, x, self.network, forget)

        def build() -> nets.Network:
            body = nets.body(self.network, self.shape_)
            if self.pretrained is not None:
                nets.load_weights(body, self.pretrained)
            return nets.Network(body, *constants)

        return build

    def _speed(self) -> Speed:
        return Speed(self.precision, self.compile, self.capture)

    def _estimated(self, rows: np.ndarray, s: np.ndarray) -> Estimate:
        """Estimate the prior, on the first rank alone."""
        if launch.size() == 1:
            return self._estimated_here(rows, s)
        return Estimate.from_json(parallel.from_first(lambda: self._estimated_here(rows, s).to_json()))

    def _estimated_here(self, rows: np.ndarray, s: np.ndarray) -> Estimate:
        """Estimate it; of images that no MLP would be taken for, from scores of the method's own network."""
        on_scores = isinstance(self.prior, str) and named(self.prior) in ON_SCORES
        if rows.ndim != 4 or nets.auto_network(self.shape_) == "mlp" or not on_scores:
            return super()._estimated(rows, s)
        with _TURN:
            build, device = self._builder(as_tensor(rows)), find_device(self.device)
            scores = scores_by_halves(rows, s, build, device, self._speed())
        return estimated_from_scores(self.prior, *scores)

    def _passes(self) -> int:
        """Return how often training passes a row through the network forth and back, more or less."""
        return sum(getattr(self, f.name) for f in fields(self) if f.name.endswith("epochs"))

    def _keep(self, model: nn.Module, history: list[Json]) -> None:
        self.model_ = model.requires_grad_(False)
        model.zero_grad()  # frees the gradients
        self.history_ = history
        self.n_iter_ = len(history)

    # -------------------------------------------------------------- predict

    def _raw_scores(self, rows: np.ndarray) -> np.ndarray:
        """Return the logits of the rows."""
        device = next(self.model_.parameters()).device
        return logits(self.model_, as_tensor(rows), device).cpu().double().numpy()

    # -------------------------------------------------------- save and load

    def _write_history(self, folder: RunFolder) -> None:
        folder.rewrite_log(self.history_)

    def _write_model(self, folder: RunFolder) -> None:
        folder.keep_weights(dict(self.model_.state_dict()))

    def _kind(self) -> Json:
        kind: Json = {"shape": self.shape_, "layout": self.layout_, "bytes": self.bytes_}
        return kind | {"preset": self.preset_, "settings": self.settings_}

    def _take_kind(self, fitted: Fitted) -> None:
        assert fitted.shape is not None and fitted.layout is not None and fitted.bytes is not None
        self.layout_, self.bytes_, self.shape_ = fitted.layout, fitted.bytes, fitted.shape
        self.preset_, told = fitted.preset or "paper", self.get_params(deep=False)
        self.settings_ = fitted.settings or resolved(type(self), self.preset_, told)

    def _read_model(self, folder: RunFolder) -> None:
        model = restored(folder, self.settings_.get("network", self.network), self.shape_)
        self._keep(model.eval().to(find_device(self.device)), folder.log())

    def _with_network(self, network: Callable[..., nn.Module] | None, path: Path) -> None:
        """Take the user's own network. It is code, so a folder stores its name only and the user passes it again."""
        if str(self.network).startswith("callable ") and network is None:
            raise ValueError(
                f"{path} holds a network of your own ({self.network[9:]}); pass it: load(folder, network=...)"
            )
        if network is not None:
            self.network = network

    # --------------------------------------------------------------- checks

    def _check_parameters(self) -> None:
        super()._check_parameters()
        known = tuple(dict.fromkeys(("auto", "paper", *self.presets, "cpu")))
        if self.preset not in known:
            hint = near(self.preset, known)
            raise ValueError(f"{self.name} has no preset {self.preset!r}{hint}; use {', '.join(map(repr, known))}")
        find_device(self.device)
        check_views(self.views)

    def _check_rows(self, X: Any, reset: bool) -> np.ndarray:
        """Return X as float32 or uint8, images as NCHW. `reset` stores the shape of a row; else it is compared."""
        refuse_no_numbers(X)
        shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape
        if not reset and (self.layout_ != "rows" or len(shape) > 2):
            self._check_shape(shape)  # scikit-learn's message would call the second axis features
        with np.errstate(over="ignore"):  # a value too large for float32 becomes infinite; refuse_infinite names it
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
