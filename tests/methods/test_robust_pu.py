import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits as bce

from distpu.methods.robust_pu import Weighed, bounds, row_weights
from distpu.train.data import Batch
from distpu.train.run import Run
from fixture import close
from small import small


def tensor(*values):
    return torch.tensor(values, dtype=torch.float64)


Z_U, Z_P = tensor(-2, 0, 1.5), tensor(2, -1)


def test_weights_by_hand():
    u, p = torch.zeros(3), torch.ones(2)
    close(row_weights(Z_U, u, (0.466, 1.0)), [0.4083222354, 0.0410924046, 0.0013935063], 1e-9)
    close(row_weights(Z_U, u, (0.466, 1.0), "linear"), [0.5826044414, 0, 0], 1e-9)
    close(row_weights(Z_U, u, (0.466, 1.0), "hard"), [1, 0, 0])
    close(row_weights(Z_U, u, (1.0, 1.0)), [0.8232409669, 0.5, 0.2397872687], 1e-9)
    close(row_weights(Z_P, p, (1.0, 0.46)), [0.5488946098, 0.0020166034], 1e-9)


def test_bounds_grow_to_one():
    assert bounds(0) == pytest.approx((0.11, 0.1)) and bounds(2) == pytest.approx((0.466, 0.46))
    assert bounds(5) == pytest.approx((1, 1)) and bounds(9) == (1, 1)


def test_the_risk_is_not_divided_by_the_weights():
    z, s = torch.cat([Z_P, Z_U]), tensor(1, 1, 0, 0, 0)
    w = row_weights(z, s, bounds(2))
    close((w * bce(z, s, reduction="none")).mean(), 0.0309999946, 1e-9)

    class Same(torch.nn.Module):
        def forward(self, x):
            return x[:, 0]

    objective = Weighed(torch.ones(5, dtype=torch.bool), w)
    terms = objective(Same(), Batch(torch.arange(5), z[:, None], s), torch.tensor(0.0))
    close(terms["weighed"], 0.0309999946, 1e-9)
    back = objective(Same(), Batch(torch.tensor([4, 0]), z[[4, 0], None], s[[4, 0]]), torch.tensor(0.0))
    close(back["weighed"], (w * bce(z, s, reduction="none"))[[4, 0]].mean())  # a row keeps its own weight


def test_late_episodes_are_dropped(toy, monkeypatch):
    """With tau = 1 all unlabelled rows become negatives: PU accuracy on held-out rows sends the network back."""
    X, s, y = toy
    stages, epochs = [], Run.epochs

    def watched(self, stage, *rest):
        stages.append(stage)
        yield from epochs(self, stage, *rest)

    monkeypatch.setattr(Run, "epochs", watched)
    fitted = small("robust-pu", prior=0.4, first=5, episodes=6, epochs=12, patience=1).fit(X, s)
    assert stages[:2] == ["warm-up", "episode-5"] and len(stages) < 7
    assert (fitted.predict(X) == y)[s == 0].mean() > 0.8
