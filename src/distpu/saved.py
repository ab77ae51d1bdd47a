"""Reads a fitted method from a run folder. Nothing in the folder is executed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from sklearn.base import clone

from . import __version__
from .encode.rows import check_encode
from .estimator import PUEstimator
from .files.atomic import REMEDY
from .files.run_folder import RunFolder
from .methods import METHODS
from .params import check_parameters
from .prior import check_prior
from .threshold import read_choice


def load(folder: str | Path, network: Callable[..., Any] | None = None, device: str = "auto") -> PUEstimator:
    """Return the fitted method of a run folder. It reads JSON, safetensors, and skops with a closed list of types.

    If the model was trained with a network of your own, pass the same callable as `network`.
    """
    path = Path(folder)
    run_folder = RunFolder(path)
    run_folder.check_finished()
    config = run_folder.config()
    if config["method"] not in METHODS:
        raise ValueError(
            f"{path} holds a model of method {config['method']!r}, which distpu {__version__} does not know; "
            f"use the version that trained it ({', '.join(METHODS)} are known)"
        )
    cls = METHODS[config["method"]]
    known = {f.name for f in fields(cls)}
    params = {k: v for k, v in config["params"].items() if k in known}
    if "device" in known:
        params["device"] = device
    by_object = isinstance(params.get("prior"), str) and params["prior"].endswith(")")
    if by_object:  # the config has the name of the object that estimated the prior; the number found stands for it
        params["prior"] = "auto"
    own_encoder = isinstance(params.get("encode"), str) and params["encode"].endswith(")")
    if own_encoder:  # the config has its name; the folder has the fitted one
        params["encode"] = "auto"
    method = cls(**params)
    method._with_network(network, path)
    try:
        check_parameters(method)
        check_prior(method.prior)
        check_encode(method.encode)
        read_choice(method.threshold)
    except ValueError as error:
        raise ValueError(f"{path} holds a wrong parameter: {error}; {REMEDY}") from None
    method._restore(run_folder)
    if by_object:
        method.prior = method.prior_
    if own_encoder and method.encoder_ is not None:
        method.encode = clone(method.encoder_)
    return method
