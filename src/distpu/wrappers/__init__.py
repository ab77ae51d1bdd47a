"""Classic PU methods around any scikit-learn classifier, by name. No network is trained here."""

from .bagging_pu import BaggingPU
from .base import Wrapper
from .elkan_noto import ElkanNoto
from .two_step import TwoStep

WRAPPERS: dict[str, type[Wrapper]] = {
    "elkan-noto": ElkanNoto,
    "bagging-pu": BaggingPU,
    "two-step": TwoStep,
}
