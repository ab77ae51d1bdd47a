"""Weights of rows, learned from a few rows with true labels by the gradient of a virtual step (as Self-PU does)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.func import functional_call

from ..train.data import Batch, mean_where
from ._parts import binary_entropy, sigmoid_loss


def weighted_risks(z: Tensor, s: Tensor, prior: float, w: Tensor | float = 1.0) -> tuple[Tensor, Tensor]:
    """(R_p, R_n) with each row's loss times its weight; the means are over all rows, as without weights."""
    P, U, as_positive, as_negative = s == 1, s == 0, w * sigmoid_loss(z), w * sigmoid_loss(-z)
    return prior * mean_where(as_positive, P), mean_where(as_negative, U) - prior * mean_where(as_negative, P)


def meta_weights(
    net: nn.Module, batch: Batch, prior: float, x_clean: Tensor, v: Callable[[Tensor], Tensor], step: float
) -> Tensor:
    """(b, 2): max(0, -d v / d eps) at eps = 0; v is a function of the clean rows' logits after the virtual step."""
    eps = batch.x.new_zeros(len(batch.s), 2, requires_grad=True)
    weights, buffers = dict(net.named_parameters()), {k: b.clone() for k, b in net.named_buffers()}  # none is changed
    z = functional_call(net, {**weights, **buffers}, batch.x)
    loss = sum(weighted_risks(z, batch.s, prior, eps[:, 0])) + (eps[:, 1] * binary_entropy(z)).mean()
    slopes = torch.autograd.grad(loss, [*weights.values()], create_graph=True)
    stepped = {name: w - step * g for (name, w), g in zip(weights.items(), slopes, strict=True)}
    training = net.training
    z_clean = functional_call(net.eval(), {**stepped, **buffers}, x_clean)  # eval: BatchNorm takes few clean rows too
    net.train(training)
    return -torch.autograd.grad(v(z_clean), eps)[0].clamp(max=0)


def row_weights(w: Tensor, s: Tensor, budget: float, least: float) -> Tensor:
    """(b, 2): rows of U, in order, sum to 1 until the w1 before them reach the budget; all other rows get (1, 0)."""
    w0, w1 = w.unbind(1)
    w1 = torch.where(s == 0, w1 / (w0 + least + w1), 0.0)
    w1 = torch.where(w1.cumsum(0) - w1 < budget, w1, 0.0)
    return torch.stack([1 - w1, w1], 1)
