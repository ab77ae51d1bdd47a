"""What methods share: risks, entropy, Mixup, memories. Parts with state are modules; the others are pure functions."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from ..train.data import mean_where


def sigmoid_loss(z: Tensor) -> Tensor:
    """Margin loss l(z) = sigma(-z)."""
    return torch.sigmoid(-z)


def logistic_loss(z: Tensor) -> Tensor:
    """Margin loss l(z) = log(1 + exp(-z))."""
    return softplus(-z)


def double_hinge_loss(z: Tensor) -> Tensor:
    """Margin loss l(z) = max(-z, max(0, 1/2 - z/2)): convex, and l(z) - l(-z) = -z."""
    return torch.maximum(-z, (0.5 - 0.5 * z).clamp(min=0))


LOSSES = {"sigmoid": sigmoid_loss, "logistic": logistic_loss, "double-hinge": double_hinge_loss}


def pu_risks(z: Tensor, s: Tensor, prior: float, loss: str = "sigmoid") -> tuple[Tensor, Tensor]:
    """(R_p, R_n): R_p = prior E_P[l(z)],  R_n = E_U[l(-z)] - prior E_P[l(-z)]."""
    l, P, U = LOSSES[loss], s == 1, s == 0  # noqa: E741
    return prior * mean_where(l(z), P), mean_where(l(-z), U) - prior * mean_where(l(-z), P)


def pn_risks(z: Tensor, s: Tensor, weight: float | Tensor = 0.5, loss: str = "logistic") -> tuple[Tensor, Tensor]:
    """(w E_P[l(z)], (1 - w) E_N[l(-z)]): rows with s = 0 count as negatives; the classes weigh w and 1 - w."""
    l = LOSSES[loss]  # noqa: E741
    return weight * mean_where(l(z), s == 1), (1 - weight) * mean_where(l(-z), s == 0)


def random_negatives(s: Tensor, ratio: float = 1.0) -> Tensor:
    """Draw ratio * |P| unlabelled rows without repeats, as negatives of the naive baseline. Return their numbers."""
    unlabelled = torch.nonzero(s == 0).flatten()
    size = min(len(unlabelled), max(1, round(ratio * int((s == 1).sum()))))
    return unlabelled[torch.randperm(len(unlabelled), device=s.device)[:size]]


def drawn_in_batch(s: Tensor) -> Tensor:
    """Return 1 on the batch's labelled rows, 0 on as many other rows, drawn at random, and -1 on the rest."""
    rank = torch.rand_like(s).masked_fill(s == 1, 2.0).argsort().argsort()  # labelled rows rank last; static shapes
    return torch.where(s == 1, 1.0, torch.where(rank < (s == 1).sum(), 0.0, -1.0))


def binary_entropy(z: Tensor) -> Tensor:
    """H(p) = -p log p - (1-p) log(1-p) of p = sigma(z) = log(1 + exp(z)) - z p. This form takes no log of 0."""
    return softplus(z) - z * torch.sigmoid(z)


def reads_as(value: Tensor, slope: Tensor) -> Tensor:
    """Return a tensor with the value of `value` and the gradient of `slope`."""
    return slope + (value - slope).detach()


def nonnegative(positive: Tensor, negative: Tensor, beta: float = 0.0, gamma: float = 1.0) -> Tensor:
    """nnPU's correction. Where R_n < -beta, its value is R_p - beta and its gradient is -gamma grad R_n.

    This is not R_p + max(0, R_n), whose gradient would be that of R_p alone.
    """
    bites = negative < -beta
    value = torch.where(bites, positive - beta, positive + negative)
    slope = torch.where(bites, -gamma * negative, positive + negative)
    return reads_as(value, slope)


def mixup(x: Tensor, y: Tensor, alpha: float, fold: bool = False) -> tuple[Tensor, Tensor]:
    """Mix each row and its target with those of a random partner. A batch has one weight and one permutation.

    lam ~ Beta(alpha, alpha);  x' = lam x + (1-lam) x[perm],  y' likewise.  fold: lam <- max(lam, 1-lam).
    Cross-entropy is linear in its target, so lam BCE(p, y) + (1-lam) BCE(p, y[perm]) = BCE(p, y').
    """
    a = torch.full((), alpha, device=x.device)
    lam = torch.distributions.Beta(a, a, validate_args=False).sample()
    if fold:
        lam = torch.maximum(lam, 1 - lam)
    partner = torch.randperm(len(x), device=x.device)
    return torch.lerp(x[partner], x, lam), torch.lerp(y[partner], y, lam)


class Memory(nn.Module):
    """One number for each row, such as a pseudo-label, that is kept from batch to batch."""

    values: Tensor

    def __init__(self, values: Tensor):
        super().__init__()
        self.register_buffer("values", values.detach().clone())

    def forward(self, index: Tensor) -> Tensor:
        return self.values[index]

    def remember(self, index: Tensor, values: Tensor) -> None:
        self.values[index] = values.detach()


class MovingMean(nn.Module):
    """M <- a M + (1-a) E over the batches of training. M = E in the first batch, and when the module does not train."""

    value: Tensor
    started: Tensor

    def __init__(self, keep: float):
        super().__init__()
        self.keep = keep
        self.register_buffer("value", torch.zeros(()))
        self.register_buffer("started", torch.tensor(False))

    def forward(self, values: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return M, and the share of M that is new and has a gradient."""
        mean, some, started = mean_where(values, mask), mask.any(), self.started & self.training
        new = torch.where(started, 1 - self.keep, torch.ones_like(mean))
        moved = (1 - new) * self.value + new * mean
        if self.training:
            moved = torch.where(some, moved, self.value.clone())
            self.value.copy_(moved.detach())
            self.started.logical_or_(some)
        return moved, new


class Teacher(nn.Module):
    """The moving average of a network's weights: W <- a W + (1-a) W_student, a = min(1 - 1/(t+1), decay), t = 0, 1, ...

    The first step copies the student. Until a reaches `decay`, the teacher is the plain mean of all it followed.
    BatchNorm's statistics are those of the teacher's own passes in training: a mean of the students' statistics would
    not fit the mean of their weights.
    """

    steps: Tensor

    def __init__(self, net: nn.Module, decay: float):
        super().__init__()
        self.net, self.decay = copy.deepcopy(net).requires_grad_(False), decay
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        return self.net(x)

    @torch.no_grad()
    def follow(self, net: nn.Module) -> None:
        a = (1 - 1 / (self.steps + 1)).clamp(max=self.decay)
        for mine, theirs in zip(self.net.parameters(), net.parameters(), strict=True):
            mine.copy_(a * mine + (1 - a) * theirs)
        self.steps += 1

    def restart(self, net: nn.Module) -> None:
        """Copy the network and forget the networks followed so far."""
        self.net.load_state_dict(net.state_dict())
        self.steps.zero_()


class Average(Teacher):
    """A teacher that is always in eval mode: the moving average takes BatchNorm's statistics in too.

    Its scores are targets of training, so they are computed as fast as training, in bfloat16 and compiled code.
    """

    def __init__(self, net: nn.Module, decay: float):
        super().__init__(net, decay)
        self.eval()

    @torch.no_grad()
    def follow(self, net: nn.Module) -> None:
        a = (1 - 1 / (self.steps + 1)).clamp(max=self.decay)
        mine, theirs = ([*part.parameters(), *part.buffers()] for part in (self.net, net))
        pairs = [pair for pair in zip(mine, theirs, strict=True) if pair[0].is_floating_point()]
        averages, new = [m for m, _ in pairs], [t.detach() for _, t in pairs]
        torch._foreach_mul_(averages, a)  # a few kernels for all tensors
        torch._foreach_add_(averages, torch._foreach_mul(new, 1 - a))
        for m, t in zip(mine, theirs, strict=True):
            if not m.is_floating_point():
                m.copy_(t)
        self.steps += 1

    def train(self, mode: bool = True) -> Average:
        return super().train(False)

    @torch.no_grad()
    def forward(self, x: Tensor) -> Tensor:
        with self._fast():
            return self.net(x)

    @torch.no_grad()
    def features(self, x: Tensor) -> Tensor:
        """Return what the last layer of the averaged network gets."""
        with self._fast():
            return self.net.features(x)[0]  # type: ignore[operator]

    @contextlib.contextmanager
    def _fast(self) -> Iterator[None]:
        self.net.teaches = True  # type: ignore[assignment]
        yield
        self.net.teaches = False  # type: ignore[assignment]
