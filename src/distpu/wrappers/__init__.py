"""Classic PU methods around any scikit-learn classifier, by name. No network is trained here."""

from ..methods._wrapper import Wrapper
from ..methods.bagging_pu import BaggingPU
from ..methods.elkan_noto import ElkanNoto
from ..methods.two_step import TwoStep

WRAPPERS: dict[str, type[Wrapper]] = {
    "elkan-noto": ElkanNoto,
    "bagging-pu": BaggingPU,
    "two-step": TwoStep,
}
