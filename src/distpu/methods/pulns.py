"""PULNS (Luo, Zhao, Chen, Qiao, Du, Zhang, Wu, Cai, He, Rajmohan, Lin: Positive-Unlabeled Learning with Effective
Negative Sample Selector, AAAI 2021). A policy learns by reinforcement which unlabelled rows to take for negatives.

    start:    a network learns P against U;  h(x) = what its last layer gets,  z(x) = its logit
    episode:  for each row i of U in a random order, the policy takes it (a = 1) or leaves it (a = 0):
                state     [h(x_i), mean h of the rows taken so far (of U if none), mean h of P]
                reward    r_i = clip((1 - 2 a_i) z(x_i), -1, 1)
              a probe learns P against the rows taken;   r_T = its accuracy on the validation rows - the best so far
              return    v_i = sum over t >= i of discount^(t - i) r_t + terminal r_T
              the policy descends  -sum over i of v_i log pi(a_i | state_i)
              a classifier learns P against the rows that the policy now takes; the best on validation rows is kept

Assumes: **clean validation rows, positive and negative**, which PU data does not have: fit(X, y, validation=(X_val,
y_val)). They choose the classifier, so an accuracy on them is no estimate. Without them, a fifth of the PU rows is held
out and PU accuracy takes the place of accuracy; it needs the prior and is noisier. The prior has no other use.

Differs from its public code: there is none. The discount, the weight of r_T, the sizes and the number of episodes are
not known; ours are guesses. Means of the state are renewed after each chunk of rows and not after each row, and the
policy takes one step for each chunk, with returns brought to mean 0 and deviation 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.utils import _safe_indexing as take
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from .. import metrics, nets
from ..inputs import read_labels
from ..params import param, tuned
from ..train.data import Batch, PUData
from ..train.loop import Objective
from ..train.run import Run
from ..train.scoring import logits
from ..weights import refuse
from ._network import NetworkMethod
from ._parts import pn_risks

CHUNK = 64  # rows that the policy decides on before the mean of the rows taken is renewed
HELD_OUT = 5  # one row in so many judges, if no validation rows are given


def rewards(z: Tensor, a: Tensor) -> Tensor:
    """r_i = clip((1 - 2 a_i) z_i, -1, 1)."""
    return ((1 - 2 * a) * z).clamp(-1, 1)


def returns(r: Tensor, discount: float, last: float) -> Tensor:
    """v_i = sum over t >= i of discount^(t - i) r_t + last. The last reward is not discounted."""
    v, total = torch.empty_like(r), 0.0
    for i in range(len(r) - 1, -1, -1):
        total = float(r[i]) + discount * total
        v[i] = total + last
    return v


def policy_loss(logit: Tensor, a: Tensor, v: Tensor) -> Tensor:
    """-sum over i of v_i log pi(a_i), from the policy's logits of a = 1."""
    return -(v * torch.where(a == 1, logsigmoid(logit), logsigmoid(-logit))).sum()


class Against(Objective):
    """P against some rows of U, both with the same total weight."""

    def __init__(self, chosen: Tensor):
        super().__init__()
        self.chosen = chosen  # a mask over all rows, labelled ones included

    def rows(self, s: Tensor) -> Tensor:
        return torch.nonzero(self.chosen).flatten()

    def forward(self, model: nn.Module, batch: Batch, progress: Tensor) -> dict[str, Tensor]:
        positive, negative = pn_risks(model(batch.x), batch.s)
        return {"positive": positive, "negative": negative}


class Policy(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        layers = [nn.Linear(3 * width, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1), nn.Flatten(0)]
        self.net = nn.Sequential(*layers)

    def walk(self, h: Tensor, mean_p: Tensor, order: Tensor, draw: bool) -> tuple[list[Tensor], Tensor]:
        """Decide on the rows in an order, a chunk at a time. Return the states of each chunk, and the actions."""
        taken, count, states, actions = torch.zeros_like(mean_p), 0, [], []
        for rows in order.split(CHUNK):
            mean = taken / count if count else h.mean(0)
            states.append(torch.cat([h[rows], mean.expand(len(rows), -1), mean_p.expand(len(rows), -1)], dim=1))
            p = self.net(states[-1]).detach().sigmoid()
            a = torch.bernoulli(p) if draw else (p >= 0.5).float()
            taken, count = taken + (a[:, None] * h[rows]).sum(0), count + int(a.sum())
            actions.append(a)
        return states, torch.cat(actions)


@torch.no_grad()
def features(net: Any, x: Tensor) -> Tensor:
    net.eval()
    return torch.cat([net.features(part.to(net.mean.device))[0] for part in x.split(1024)])


@dataclass(eq=False, repr=False, kw_only=True)
class PULNS(NetworkMethod):
    """A policy that selects negatives, rewarded by accuracy on clean validation rows, which fit takes."""

    name = "pulns"
    paper = "Luo et al., PULNS: Positive-Unlabeled Learning with Effective Negative Sample Selector, AAAI 2021"
    preparing = ("start", "probe")

    warm_up_epochs: int = tuned(10, "epochs in which a network learns P against U", least=1, search=(3, 30, "log"))
    epochs: int = tuned(10, "epochs of each probe and of each classifier", least=1, search=(3, 30, "log"))
    episodes: int = param(8, "how often the policy walks through U", least=1, search=(2, 20))
    discount: float = param(0.9, "what the reward of the next row counts", least=0, most=1)
    terminal: float = param(1.0, "weight of the probe's gain on the validation rows", least=0)
    policy_lr: float = param(3e-3, "learning rate of Adam for the policy", above=0)

    def fit(
        self, X: Any, y: Any, *, validation: Any = None, folder: str | Path | None = None, **refused: Any
    ) -> NetworkMethod:
        """Learn from PU labels. `validation` is (rows, true labels), with positives and negatives."""
        refuse(self.name, refused)
        sets: dict[str, Any] = {}
        if validation is not None:
            if not isinstance(validation, tuple) or len(validation) != 2:
                raise ValueError("validation= must be a pair (rows, true labels); write validation=(X_val, y_val)")
            rows, label = validation[0], read_labels(validation[1], self.pos_label)[0]
            for name, kind in (("validation_positives", 1), ("validation_negatives", 0)):
                sets[name] = take(rows, np.flatnonzero(label == kind))
        return self._fit(X, y, folder, **sets)

    def _learn(self, run: Run) -> nn.Module:
        data, judge = run.data, Judge(run.data)
        P, U = judge.learns & (data.s == 1), torch.nonzero(judge.learns & (data.s == 0)).flatten()
        start = run.net()
        run.train("start", start, Against(judge.learns), self._recipe(epochs=self.warm_up_epochs))
        if isinstance(start, nets.Network):
            nets.head_of(start.body)  # says what a network of one's own needs
        z, h = logits(start, data.x)[U], features(start, data.x)
        mean_p, h = h[P].mean(0), h[U]
        policy = Policy(h.shape[1]).to(h.device)
        optimizer = torch.optim.Adam(policy.parameters(), self.policy_lr)
        best, kept = judge.value(start), start
        highest = -1.0
        for episode in range(self.episodes):
            order = torch.randperm(len(U), device=U.device)
            states, a = policy.walk(h, mean_p, order, draw=True)
            gain = self._value(run, f"probe-{episode}", judge, P, U[order[a == 1]])[0] - best
            v = returns(rewards(z[order], a), self.discount, self.terminal * gain)
            v = (v - v.mean()) / v.std().clamp(min=1e-6)
            for state, action, value in zip(states, a.split(CHUNK), v.split(CHUNK), strict=True):
                optimizer.zero_grad()
                policy_loss(policy.net(state), action, value).backward()
                optimizer.step()
            _, a = policy.walk(h, mean_p, order, draw=False)
            found, model = self._value(run, f"classifier-{episode}", judge, P, U[order[a == 1]])
            best = max(best, found)
            if model is not None and found > highest:
                highest, kept = found, model
        return kept

    def _value(
        self, run: Run, stage: str, judge: Judge, P: Tensor, negatives: Tensor
    ) -> tuple[float, nn.Module | None]:
        """Train P against some rows, and judge. Where no row was taken there is nothing to learn."""
        if not len(negatives):
            return -1.0, None
        chosen = P.clone()
        chosen[negatives] = True
        model = run.net()
        run.train(stage, model, Against(chosen), self._recipe())
        return judge.value(model), model


class Judge:
    """Accuracy on clean validation rows; without them, PU accuracy on PU rows that are held out."""

    def __init__(self, data: PUData):
        self.data, self.learns = data, torch.ones_like(data.s, dtype=torch.bool)
        sets = [data.extra.get(f"validation_{kind}") for kind in ("positives", "negatives")]
        self.clean = all(part is not None for part in sets)
        self.sets = [part for part in sets if part is not None]
        if not self.clean:
            held = data.folds(HELD_OUT) == 0
            both = all(bool((data.s[part] == kind).any()) for part in (held, ~held) for kind in (0, 1))
            self.learns = ~held if both else self.learns
            self.held = held if both else self.learns

    def value(self, model: nn.Module) -> float:
        if self.clean:
            positive, negative = (logits(model, part, self.data.s.device) >= 0 for part in self.sets)
            return float((positive.sum() + (~negative).sum()) / (len(positive) + len(negative)))
        z = logits(model, self.data.rows(self.held), self.data.s.device).cpu().double().numpy()
        return float(metrics.pu_accuracy(self.data.s[self.held].cpu().numpy(), z, self.data.prior))
