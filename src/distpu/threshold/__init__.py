"""Where to cut, and probabilities that mean what they say; from held-out PU scores and the prior alone. No torch.

z_p and z_u are scores of labelled and of unlabelled rows by models that did not see them (out of fold, out of bag).
Any scale will do, as long as likelier positives score higher; infinite scores and ties may occur.

    Calibration.fit(z_p, z_u, prior) -> Calibration       scores in, P(y=1 | score) out, among rows like the unlabelled
        calibration(z) -> p;  .as_json();  Calibration.from_json(value)
    with_share(p, prior, share) -> p                      probabilities where another share of the rows is positive
    cross_calibrated(z_p, z_u, prior, folds=5, seed=0) -> p_p, p_u       by maps fitted on the other folds
    reliability(p_p, p_u, prior, bins=5) -> Metric        calibration error without negatives, with its standard error
    calibration_error(p, y, bins=10) -> float             with true labels

    HeldOut.of(z_p, z_u, total=None) -> HeldOut           the scores as two tables of at most 1,000 values each;
        .as_json();  HeldOut.from_json(value)             total: all unlabelled rows, if z_u are of a part of them
    read_choice(threshold) -> Choice                      "prior", "half", 0.3, "precision=0.9", "recall=0.8", "cost=5",
                                                          "rows=100"; "auto" is the method's own cut
    find_cut(choice, held_out, prior, calibration) -> float        positive where score >= cut
    expected(cut, held_out, prior, calibration=None, interval=None, level=0.9) -> Expected
        .rows, .precision, .recall (each with .error), .hidden, .hidden_interval;  str() is a sentence;  .as_json()
    Curve.of(held_out, calibration) -> rows, precision, recall          of a cut below each stored score
    cut_at(z, share) -> float                             the cut above which about this share of z lies

    FittedCut.fit(z, s, called, prior, choice, total=None) -> FittedCut     all of it, as a fitted method stores it
        .calibration, .held_out, .own, .choice, .at;  .moved(choice);  .expected(interval=None)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .calibration import Calibration, calibration_error, cross_calibrated, reliability, with_share
    from .choice import Choice, read_choice
    from .cut import Curve, Expected, cut_at, expected, find_cut
    from .cuts import Cuts
    from .fitted_cut import FittedCut
    from .held_out import HeldOut

__all__ = [
    "Calibration",
    "Choice",
    "Curve",
    "Cuts",
    "Expected",
    "FittedCut",
    "HeldOut",
    "calibration_error",
    "cross_calibrated",
    "cut_at",
    "expected",
    "find_cut",
    "read_choice",
    "reliability",
    "with_share",
]

# Imported on first use: scikit-learn takes a second, and a wrong --threshold should be told at once.
_HOME = {
    **dict.fromkeys(
        ("Calibration", "calibration_error", "cross_calibrated", "reliability", "with_share"), "calibration"
    ),
    **dict.fromkeys(("Choice", "read_choice"), "choice"),
    **dict.fromkeys(("Curve", "Expected", "cut_at", "expected", "find_cut"), "cut"),
    **{"Cuts": "cuts", "FittedCut": "fitted_cut", "HeldOut": "held_out"},
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
