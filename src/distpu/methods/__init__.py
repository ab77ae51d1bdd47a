"""The methods, by name. A new one is a file here, a test, and a line in this dict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping
from dataclasses import fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..params import check_parameter, near
from ._source import settings_of

if TYPE_CHECKING:  # scikit-learn takes a second to import, and a mistake should be told at once
    from ..estimator import PUEstimator


class Methods(MutableMapping[str, "type[PUEstimator]"]):
    """A dict of classes. An entry is a class, or the place of one: a place is imported when it is first asked for.

    PyTorch takes two seconds to import, and methods on tables do without it.
    """

    def __init__(self, places: dict[str, str]) -> None:
        self._entries: dict[str, str | type[PUEstimator]] = dict(places)

    def __getitem__(self, name: str) -> type[PUEstimator]:
        entry = self._entries[name]
        if isinstance(entry, str):
            module, cls = entry.split(".")
            entry = self._entries[name] = getattr(import_module(f".{module}", __name__), cls)
        return entry

    def place(self, name: str) -> str | None:
        """Return where a class is, as "module.Class"; None for a class that a user added."""
        entry = self._entries[name]
        if isinstance(entry, str):
            return entry
        package, _, module = entry.__module__.rpartition(".")
        return f"{module}.{entry.__name__}" if package == __name__ else None

    def __setitem__(self, name: str, cls: type[PUEstimator]) -> None:
        self._entries[name] = cls

    def __delitem__(self, name: str) -> None:
        del self._entries[name]

    def __contains__(self, name: object) -> bool:  # a look does not import
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


METHODS = Methods(
    {
        "dist-pu": "dist_pu.DistPU",
        "nnpu": "nnpu.NNPU",
        "upu": "upu.UPU",
        "naive": "naive.Naive",
        "imb-pu": "imb_pu.ImbPU",
        "pn": "pn.PN",
        "pusb": "pusb.PUSB",
        "rank-pruning": "rank_pruning.RankPruning",
        "pubn": "pubn.PUbN",
        "apu": "apu.APU",
        "vpu": "vpu.VPU",
        "cvir": "cvir.CVIR",
        "tedn": "tedn.TEDn",
        "lbe": "lbe.LBE",
        "pulda": "pulda.PULDA",
        "self-pu": "self_pu.SelfPU",
        "dist-pu-plus": "dist_pu_plus.DistPUPlus",
        "pan": "pan.PAN",
        "genpu": "genpu.GenPU",
        "pulns": "pulns.PULNS",
        "ncpu": "ncpu.NcPU",
        "p3mix": "p3mix.P3Mix",
        "holistic-pu": "holistic_pu.HolisticPU",
        "robust-pu": "robust_pu.RobustPU",
        "elkan-noto": "elkan_noto.ElkanNoto",
        "bagging-pu": "bagging_pu.BaggingPU",
        "two-step": "two_step.TwoStep",
        "s-em": "s_em.SEM",
        "llgc": "llgc.LLGC",
        "max-margin": "max_margin.MaxMarginPU",
        "kldce": "kldce.KLDCE",
        "kernel-upu": "kernel_upu.KernelUPU",
        "blend-pu": "blend_pu.BlendPU",
        "dist-pu-boost": "dist_pu_boost.DistPUBoost",
    }
)


AUTO = "auto.AutoPU"


def method_class(name: str) -> type[PUEstimator]:
    """Return the class of a method; "auto" chooses one by the data. The error for an unknown name has the nearest."""
    check_name(name)
    if name == "auto":
        from .auto import AutoPU

        return AutoPU
    return METHODS[name]


def check_name(name: str) -> None:
    """Refuse a method that is not known. Nothing is imported."""
    if name != "auto" and name not in METHODS:
        raise ValueError(f"method {name!r} is not known{near(name, ['auto', *METHODS])} (distpu methods lists all)")


def check_told(name: str, settings: dict[str, Any]) -> None:
    """Refuse an unknown method, an unknown setting, or a value out of range, by the sources: nothing is imported."""
    check_name(name)
    place = AUTO if name == "auto" else METHODS.place(name)
    if place is None:
        return
    known = settings_of(place)
    inside = "estimator" in known  # settings of the classifier inside are checked by that classifier
    told = {key: value for key, value in settings.items() if not (inside and key.startswith("estimator__"))}
    _refuse_unknown(name, told, known)
    for key, value in told.items():
        if (found := known[key]) is not None:
            check_parameter(found, value)


def _refuse_unknown(name: str, settings: Iterable[str], known: Iterable[str]) -> None:
    for told in settings:
        if told not in known and name == "auto":
            raise ValueError(_whose(told))
        if told not in known:
            raise ValueError(f"{name} has no setting {told!r}{near(told, known)} (distpu methods {name} lists all)")


def _whose(setting: str) -> str:
    """Say which methods have a setting that 'auto' has not."""
    own = {name: settings_of(place) for name in METHODS if (place := METHODS.place(name)) is not None}
    whose = [name for name, known in own.items() if setting in known]
    if not whose:
        names = {key for known in own.values() for key in known}
        return f"no method has a setting {setting!r}{near(setting, names)} (distpu methods NAME lists those of one)"
    first = next((name for name in ("blend-pu", "dist-pu") if name in whose), whose[0])  # those that 'auto' takes
    more = f" and {len(whose) - 1} more" if len(whose) > 1 else ""
    return f"{setting!r} is a setting of {first}{more}, not of every method; name the method: --method {first}"


def make(name: str, settings: dict[str, Any], cls: type[PUEstimator] | None = None) -> PUEstimator:
    """Return a method with checked settings. The error for an unknown setting suggests the nearest one.

    `estimator__NAME` is the setting NAME of the classifier inside a wrapper, also of its default classifier.
    """
    cls = cls or method_class(name)
    known = [f.name for f in fields(cls)]
    inside: dict[str, Any] = {}
    if "estimator" in known:  # a wrapper
        inside = {told[11:]: value for told, value in settings.items() if told.startswith("estimator__")}
        settings = {told: value for told, value in settings.items() if not told.startswith("estimator__")}
    _refuse_unknown(name, settings, known)
    method: Any = cls(**settings)
    if inside:
        method._with_inside(inside)
    method._check_parameters()
    return method
