"""GenPU (Hou, Chaib-draa, Li, Zhao: Generative Adversarial Positive-Unlabelled Learning, IJCAI 2018).

    G_p, G_n make rows from noise;  D_p, D_u, D_n = sigma(...) tell real rows from made ones
    V_p   = E_P[log D_p] + E[log(1 - D_p(G_p))]        V_u^p = E_U[log D_u] + E[log(1 - D_u(G_p))]
    V_n   = E_P[log D_n] + E[log(1 - D_n(G_n))]        V_u^n = E_U[log D_u] + E[log(1 - D_u(G_n))]

    min over G, max over D_p, D_u:   prior (V_p + V_u^p) + (1 - prior) V_u^n - (1 - prior) max over D_n of V_n

    G_p makes rows that look labelled and unlabelled; G_n makes rows that look unlabelled and not like labelled ones: it
    helps D_n. At the optimum G_p makes positives and G_n negatives. Then a classifier C learns from made rows alone:
    R = prior E[BCE(C(G_p), 1)] + (1 - prior) E[BCE(C(G_n), 0)]

Assumes: labelled rows are a random draw from the positives; the prior; rows that a small generator can make, such as
tables and small images. It is unstable: G_n falls onto P, or a generator onto one mode, and C then learns nothing. The
spread over seeds is in docs/choosing.md.

Differs from its public code: D_u's made rows are weighed by the prior, C's classes too, and labelled rows may be among
U, as in the paper and not in that code. Generators maximise log D instead of minimising log(1 - D), as there. The five
networks of the game step at once, on one batch. Rows are scaled to [-1, 1] by the range of the data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.functional import logsigmoid, softplus

from ..params import param, tuned
from ..train.data import Batch, PUData, mean_where
from ..train.loop import Objective
from ..train.run import Run
from ..train.sampling import SAMPLINGS
from ._network import NetworkMethod


def value(real: Tensor, made: Tensor, where: Tensor | None = None) -> Tensor:
    """V = E_real[log D] + E_made[log(1 - D)], from logits. `where` marks the rows of `real` that count."""
    first = logsigmoid(real).mean() if where is None else mean_where(logsigmoid(real), where)
    return first + logsigmoid(-made).mean()


def game(v_p: Tensor, v_up: Tensor, v_un: Tensor, v_n: Tensor, prior: float) -> Tensor:
    """prior (V_p + V_u^p) + (1 - prior) V_u^n - (1 - prior) V_n."""
    return prior * (v_p + v_up) + (1 - prior) * (v_un - v_n)


def made_losses(p_gp: Tensor, u_gp: Tensor, u_gn: Tensor, n_gn: Tensor, prior: float) -> tuple[Tensor, Tensor]:
    """Return the losses of G_p and G_n, from the discriminators' logits of what they made.

    G_p wants D_p = D_u = 1. G_n wants D_u = 1 and D_n = 0: that its rows are told from labelled ones.
    """
    positive = prior * (softplus(-p_gp).mean() + softplus(-u_gp).mean())
    return positive, (1 - prior) * (softplus(-u_gn).mean() + softplus(n_gn).mean())


class Range(nn.Module):
    """Scales rows to [-1, 1] by the range of the data, and back."""

    low: Tensor
    high: Tensor

    def __init__(self, x: Tensor):
        super().__init__()
        flat = x.flatten(1).float()
        self.register_buffer("low", flat.amin(0))
        self.register_buffer("high", torch.maximum(flat.amax(0), flat.amin(0) + 1e-6))

    def forward(self, x: Tensor) -> Tensor:
        return 2 * (x.flatten(1) - self.low) / (self.high - self.low) - 1

    def back(self, x: Tensor, shape: tuple[int, ...]) -> Tensor:
        return ((x + 1) / 2 * (self.high - self.low) + self.low).reshape(-1, *shape)


def dense(n_in: int, width: int, n_out: int, last: nn.Module) -> nn.Sequential:
    slope = nn.LeakyReLU(0.2)
    return nn.Sequential(nn.Linear(n_in, width), slope, nn.Linear(width, width), slope, nn.Linear(width, n_out), last)


class Game(nn.ModuleDict):
    """The five networks that play. As a scorer it is D_p: how much a row looks labelled."""

    def __init__(self, data: PUData, width: int, noise: int):
        columns = math.prod(data.x.shape[1:])
        parts = {name: dense(columns, width, 1, nn.Flatten(0)) for name in ("d_p", "d_u", "d_n")}
        parts |= {name: dense(noise, width, columns, nn.Tanh()) for name in ("g_p", "g_n")}
        super().__init__({**parts, "range": Range(data.x)})
        self.shape, self.noise = tuple(data.x.shape[1:]), noise

    def make(self, name: str, rows: int, device: torch.device) -> Tensor:
        """Return rows that a generator makes, scaled to [-1, 1]."""
        return self[name](torch.randn(rows, self.noise, device=device))

    def rows(self, name: str, s: Tensor) -> Tensor:
        """Return as many made rows as s has, in the shape and the range of the data."""
        scale = self["range"]
        assert isinstance(scale, Range)
        return scale.back(self.make(name, len(s), s.device), self.shape)

    def forward(self, x: Tensor) -> Tensor:
        return self["d_p"](self["range"](x))


def frozen(net: nn.Module, x: Tensor) -> Tensor:
    """Return what a network says of x, with a slope for x and none for the network."""
    return functional_call(net, {name: p.detach() for name, p in net.named_parameters()}, (x,))


class Play(Objective):
    def __init__(self, prior: float):
        super().__init__()
        self.prior = prior

    def scorer(self, model: nn.Module) -> nn.Module:
        return model

    def forward(self, model: nn.Module, batch: Batch, progress: Tensor) -> dict[str, Tensor]:
        assert isinstance(model, Game)
        x, P, U = model["range"](batch.x), batch.s == 1, batch.s == 0
        made = {name: model.make(name, len(x), x.device) for name in ("g_p", "g_n")}
        gp, gn = (rows.detach() for rows in made.values())
        v_p = value(model["d_p"](x), model["d_p"](gp), P)
        v_up, v_un = (value(model["d_u"](x), model["d_u"](rows), U) for rows in (gp, gn))
        v_n = value(model["d_n"](x), model["d_n"](gn), P)
        p_gp, u_gp = (frozen(model[d], made["g_p"]) for d in ("d_p", "d_u"))
        u_gn, n_gn = (frozen(model[d], made["g_n"]) for d in ("d_u", "d_n"))
        by_p, by_n = made_losses(p_gp, u_gp, u_gn, n_gn, self.prior)
        tell = -self.prior * (v_p + v_up) - (1 - self.prior) * (v_un + v_n)  # each D maximises its own V
        return {"discriminators": tell, "positive generator": by_p, "negative generator": by_n}


class Made(Objective):
    """Cross-entropy on rows that the generators make anew for every step."""

    def __init__(self, game: Game, prior: float):
        super().__init__()
        self.game, self.prior = game.requires_grad_(False), prior

    def forward(self, model: nn.Module, batch: Batch, progress: Tensor) -> dict[str, Tensor]:
        z_p, z_n = model(torch.cat([self.game.rows(name, batch.s) for name in ("g_p", "g_n")])).chunk(2)
        return {"made": self.prior * softplus(-z_p).mean() + (1 - self.prior) * softplus(z_n).mean()}


@dataclass(eq=False, repr=False, kw_only=True)
class GenPU(NetworkMethod):
    """Learns to make positives and negatives, and then to tell the made ones apart. Unstable; for small data."""

    name = "genpu"
    paper = "Hou et al., Generative Adversarial Positive-Unlabelled Learning, IJCAI 2018"
    preparing = ("game",)

    game_epochs: int = tuned(200, "passes over the rows while generators and discriminators play", least=1,
                             search=(50, 500, "log"))  # fmt: skip
    game_lr: float = tuned(5e-4, "learning rate of Adam in the game", above=0, search=(1e-4, 5e-3, "log"))
    epochs: int = tuned(20, "passes of the classifier, each with as many made rows of a class as there are rows",
                        least=1, search=(3, 100, "log"))  # fmt: skip
    width: int = param(128, "units in each of the two layers of a generator or discriminator", least=1)
    noise: int = param(32, "numbers that a generator starts from", least=1)
    sampling: str = tuned("stratified", "labelled rows in a batch: left to chance ('mixed'), spread evenly "
                          "('stratified'), or a fixed number in each ('paired')", one_of=tuple(SAMPLINGS))  # fmt: skip

    def _learn(self, run: Run) -> nn.Module:
        game = Game(run.data, self.width, self.noise).to(run.data.s.device)
        rates = dict(lr=self.game_lr, weight_decay=0.0, floor=1.0, betas=(0.5, 0.999))
        run.train("game", game, Play(run.data.prior), self._recipe(epochs=self.game_epochs, **rates))
        model = run.net()
        run.train("classifier", model, Made(game.eval(), run.data.prior), self._recipe())
        return model
