"""Robust-PU (Zhu, Wang, Zhao, Du, Zhang, Dong, Qiao, Lin, Rajmohan, Zhang: Robust Positive-Unlabeled Learning via Noise
Negative Sample Self-correction, KDD 2023). Unlabelled rows are negatives, but hard ones weigh little; from episode to
episode the weights let harder rows in.

    warm-up:    nnPU's risk
    episode e:  h = log(1 + exp(z / 1.3)) on U,  log(1 + exp(-z)) on P:         how hard a row is for the network so far
                w = exp(-h / tau^2)                                             (Welsch), fixed for the episode's epochs
                tau = min(1, 0.11 + 0.178 e) on U,  min(1, 0.1 + 0.18 e) on P
                minimise  E[w BCE(p, s)]                                        over all rows, not divided by E[w]
    the network of the best episode predicts, the warm-up included, by PU accuracy on one PU row in `held_out`

Assumes: labelled rows are a random draw from the positives. The prior is needed, for the warm-up and for the choice.

Differs from its public code: there 500 rows with true labels choose the networks and end the episodes. Some such choice
is needed, because late episodes take every unlabelled row for a negative. There the weights of the epochs before are
averaged over rows that were shuffled in between; here a row keeps its own weight. The first episode has the number
`first`: with tau = 0.11 all weights are about 0. The learning rate is the shared one.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce
from torch.nn.functional import softplus

from ..metrics import pu_accuracy
from ..params import param, tuned
from ..train.data import Batch, PUData
from ..train.loop import Objective
from ..train.run import Run
from ..train.scoring import logits
from ._network import NetworkMethod
from ._parts import Memory, nonnegative, pu_risks

ON_U, ON_P = (0.11, 0.178), (0.1, 0.18)  # tau in episode 0, and its growth


def hardness(z: Tensor, s: Tensor, temperature: float = 1.3) -> Tensor:
    return torch.where(s == 1, softplus(-z), softplus(z / temperature))


def bounds(episode: int) -> tuple[float, float]:
    """tau on U and on P."""
    on_u, on_p = (min(1.0, start + growth * episode) for start, growth in (ON_U, ON_P))
    return on_u, on_p


WEIGHTS = {
    "welsch": lambda h, tau: torch.exp(-h / tau**2),
    "linear": lambda h, tau: (1 - h / tau).clamp(min=0),
    "hard": lambda h, tau: (h < tau).to(h.dtype),
}


def row_weights(
    z: Tensor, s: Tensor, tau: tuple[float, float], kind: str = "welsch", temperature: float = 1.3
) -> Tensor:
    """w of each row, by its logit."""
    h, (on_u, on_p) = hardness(z, s, temperature), tau
    return torch.where(s == 1, WEIGHTS[kind](h, on_p), WEIGHTS[kind](h, on_u))


@dataclass(eq=False, repr=False, kw_only=True)
class RobustPU(NetworkMethod):
    """Unlabelled rows as negatives, weighed by how easy they are, in episodes that let harder rows in."""

    name = "robust-pu"
    paper = "Zhu et al., Robust Positive-Unlabeled Learning via Noise Negative Sample Self-correction, KDD 2023"
    preparing = ("warm-up",)

    warm_up_epochs: int = tuned(20, "epochs of nnPU", least=1, search=(3, 100, "log"))
    epochs: int = tuned(20, "epochs of an episode", least=1, search=(3, 40, "log"))
    episodes: int = param(6, "highest number of episodes", least=1, search=(2, 10))
    patience: int = param(2, "episodes without a better PU accuracy before the last one", least=1)
    held_out: int = param(10, "one PU row in this many is held out and judges the episodes", least=2)
    first: int = param(1, "the first episode's number e", least=0)
    weights: str = param("welsch", "how a row's weight falls with its hardness", one_of=tuple(WEIGHTS))
    temperature: float = param(1.3, "what the logits of unlabelled rows are divided by", above=0)

    def _passes(self) -> int:
        return self.warm_up_epochs + self.episodes * self.epochs

    def _learn(self, run: Run) -> nn.Module:
        model, data = run.net(), run.data
        learnt = self._learnt(data)
        run.train("warm-up", model, NonNegative(learnt, data.prior), self._recipe(epochs=self.warm_up_epochs))
        best, value, waited = copy.deepcopy(model.state_dict()), self._worth(model, data, ~learnt), 0
        for episode in range(self.first, self.first + self.episodes):
            w = row_weights(logits(model, data.x), data.s, bounds(episode), self.weights, self.temperature)
            run.train(f"episode-{episode}", model, Weighed(learnt, w), self._recipe())
            now = self._worth(model, data, ~learnt)
            if now >= value:
                best, value, waited = copy.deepcopy(model.state_dict()), now, 0
            elif (waited := waited + 1) == self.patience:
                break
        model.load_state_dict(best)
        return model

    def _learnt(self, data: PUData) -> Tensor:
        """Return a mask of the rows to learn from: all of them where too few are there to hold some out."""
        held = data.folds(self.held_out) == 0
        both = all((data.s[part] == label).any() for part in (held, ~held) for label in (0, 1))
        return ~held if both else torch.ones_like(held)

    def _worth(self, model: nn.Module, data: PUData, held: Tensor) -> float:
        """PU accuracy on the held-out rows; 0 for all episodes where there are none, so that the last one is kept."""
        if not held.any():
            return 0.0
        z, s = logits(model, data.rows(held), data.s.device), data.s[held]
        return float(pu_accuracy(s.cpu().numpy(), z.cpu().double().numpy(), data.prior))


class Learnt(Objective):
    """Visits the rows of a mask."""

    def __init__(self, learnt: Tensor):
        super().__init__()
        self.visited = torch.nonzero(learnt).flatten()

    def rows(self, s: Tensor) -> Tensor:
        return self.visited.to(s.device)


class NonNegative(Learnt):
    def __init__(self, learnt: Tensor, prior: float):
        super().__init__(learnt)
        self.prior = prior

    def forward(self, model: nn.Module, batch: Batch, progress: Tensor) -> dict[str, Tensor]:
        return {"nnpu": nonnegative(*pu_risks(model(batch.x), batch.s, self.prior))}


class Weighed(Learnt):
    def __init__(self, learnt: Tensor, w: Tensor):
        super().__init__(learnt)
        self.w = Memory(w)

    def forward(self, model: nn.Module, batch: Batch, progress: Tensor) -> dict[str, Tensor]:
        losses = bce(model(batch.x), batch.s, reduction="none")
        return {"weighed": (self.w(batch.index) * losses).mean()}
