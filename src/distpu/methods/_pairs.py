"""NoiSNCL, the pair loss of NcPU (ICLR 2026): rows of one class, as far as it is known, are drawn together.

    q_i = the online network's answer to one view of row i,  k_j = the target network's to another view of row j
    same_ij = p_i p_j + (1-p_i)(1-p_j),   mask_ij = [same_ij >= 1/2],   mask_ii = 1
    L = mean_i sum_j mask_ij l_ij / sum_j mask_ij,    l_ii = 2 (1 - c_ii),   l_ij = 2 sqrt(1 - c_ij),   c_ij = q_i . k_j

On the sphere the plain loss 2 (1 - c) pulls with 2 sqrt(1 - c^2), the root with sqrt(1 + c): pairs that are far apart,
which are probably wrong, no longer dominate. All of it is float32: bfloat16 loses every 1 - c below 0.004.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

EPS = 1e-6  # keeps the root's slope finite at c = 1
CLAMP = 1e-4  # of the public code


def projector(n_in: int, hidden: int = 2048, n_out: int = 128) -> nn.Sequential:
    return nn.Sequential(nn.Linear(n_in, hidden), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Linear(hidden, n_out))


def predictor(size: int = 128, hidden: int = 512) -> nn.Sequential:
    return projector(size, hidden, size)


def on_sphere(x: Tensor) -> Tensor:
    return normalize(x.float(), dim=1)


def clamped(q: Tensor) -> Tensor:
    """Return q as the public code has it: each coordinate is at least 1e-4, so negative ones have no gradient."""
    return q.clamp(CLAMP, 1 - CLAMP)


def same_class(p: Tensor) -> Tensor:
    """(n, n): the probability that rows i and j share their class; 1 on the diagonal."""
    same = torch.outer(p, p) + torch.outer(1 - p, 1 - p)
    return same.masked_fill(torch.eye(len(p), dtype=torch.bool, device=p.device), 1.0)


def pair_loss(q: Tensor, k: Tensor, mask: Tensor, root: bool = True, eps: float = EPS) -> Tensor:
    """L for unit vectors q and k. The mean over a row of the mask includes the diagonal."""
    apart = 1 - q @ k.T
    losses = 2 * (apart.clamp(min=0) + eps).sqrt() if root else 2 * apart
    losses = torch.where(torch.eye(len(q), dtype=torch.bool, device=q.device), 2 * apart, losses)
    mask = mask.to(losses.dtype)
    return ((mask * losses).sum(1) / mask.sum(1)).mean()
