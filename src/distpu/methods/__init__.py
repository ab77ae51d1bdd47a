"""The methods, by name. A new one is a file here, a test, and a line in this dict."""

from collections.abc import Iterator, MutableMapping
from dataclasses import fields
from importlib import import_module
from typing import Any

from ..estimator import PUEstimator
from ..params import near


class Methods(MutableMapping[str, type[PUEstimator]]):
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

    def __setitem__(self, name: str, cls: type[PUEstimator]) -> None:
        self._entries[name] = cls

    def __delitem__(self, name: str) -> None:
        del self._entries[name]

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
        "elkan-noto": "elkan_noto.ElkanNoto",
        "bagging-pu": "bagging_pu.BaggingPU",
        "two-step": "two_step.TwoStep",
        "blend-pu": "blend_pu.BlendPU",
        "dist-pu-boost": "dist_pu_boost.DistPUBoost",
    }
)


def method_class(name: str) -> type[PUEstimator]:
    """Return the class of a method; "auto" chooses one by the data. The error for an unknown name has the nearest."""
    if name == "auto":
        from .auto import AutoPU

        return AutoPU
    if name not in METHODS:
        raise ValueError(f"method {name!r} is not known{near(name, ['auto', *METHODS])} (distpu methods lists all)")
    return METHODS[name]


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
    for told in settings:
        if told not in known and name == "auto":
            raise ValueError(f"{told!r} is a setting of some methods only; name the method, such as --method dist-pu")
        if told not in known:
            raise ValueError(f"{name} has no setting {told!r}{near(told, known)} (distpu methods {name} lists all)")
    method: Any = cls(**settings)
    if inside:
        method._with_inside(inside)
    method._check_parameters()
    return method
