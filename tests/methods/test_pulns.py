import numpy as np
import pytest
import torch
from torch.testing import assert_close

from distpu import PULNS
from distpu.methods.pulns import Judge, Policy, policy_loss, returns, rewards
from distpu.train.data import PUData
from small import small_net


def tensor(*values):
    return torch.tensor(values, dtype=torch.float64)


def test_rewards_returns_and_the_loss_by_hand():
    p, a = tensor(0.8, 0.8, 0.45), tensor(1, 0, 1)
    r = rewards(torch.logit(p), a)
    assert_close(r, tensor(-1, 1, 0.2006706955), atol=1e-9, rtol=0)
    v = returns(r, 0.9, 0.02)
    assert_close(v, tensor(0.0825432633, 1.2006036259, 0.2206706955), atol=1e-9, rtol=0)
    loss = policy_loss(torch.logit(tensor(0.6, 0.3, 0.5)), a, v)
    assert_close(loss, tensor(0.6233477153)[0], atol=1e-9, rtol=0)


def test_the_state_holds_the_mean_of_the_rows_taken_so_far():
    torch.manual_seed(0)
    h, mean_p = torch.randn(130, 2), torch.randn(2)
    states, a = Policy(2).walk(h, mean_p, torch.arange(130), draw=True)
    assert [len(state) for state in states] == [64, 64, 2] and 0 < a.sum() < 130
    assert_close(states[0][:, 2:4], h.mean(0).expand(64, 2))  # nothing taken yet: the mean of U
    assert_close(states[1][0, 2:4], h[:64][a[:64] == 1].mean(0))
    assert_close(states[2][1], torch.cat([h[129], h[:128][a[:128] == 1].mean(0), mean_p]))


class Sign(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))

    def forward(self, x):
        return self.weight * x[:, 0]


def test_clean_rows_judge_by_accuracy_and_held_out_rows_by_pu_accuracy():
    x, s = torch.tensor([[1.0], [2.0], [-1.0], [3.0], [-2.0], [-3.0]]), torch.tensor([1.0, 1, 0, 0, 0, 0])
    clean = {"validation_positives": torch.tensor([[1.0], [-1.0]]), "validation_negatives": torch.tensor([[-1.0]] * 2)}
    judge = Judge(PUData(x, s, 0.4, clean))
    assert judge.value(Sign()) == 0.75 and judge.learns.all()
    torch.manual_seed(0)
    judge = Judge(PUData(torch.randn(50, 1), (torch.arange(50) < 20).float(), 0.4))
    assert (judge.held ^ judge.learns).all() and 0 < judge.held.sum() < 20


def test_fit_takes_clean_validation_rows(toy):
    X, s, y = toy
    settings = dict(warm_up_epochs=4, epochs=4, episodes=2, batch_size=64, lr=2e-3, network=small_net, random_state=0)
    fitted = PULNS(prior=0.4, **settings).fit(X, s, validation=(X[:60], y[:60]))
    assert (fitted.predict(X) == y)[s == 0].mean() > 0.8
    stages = {row["stage"] for row in fitted.history_}
    assert stages == {"start", "probe-0", "classifier-0", "probe-1", "classifier-1"}
    other = PULNS(prior=0.4, **settings).fit(X, s)  # judged by held-out PU rows
    assert not np.array_equal(other.decision_function(X), fitted.decision_function(X))
    with pytest.raises(ValueError, match=r"validation= must be a pair .*; write validation=\(X_val, y_val\)"):
        PULNS().fit(X, s, validation=X)
