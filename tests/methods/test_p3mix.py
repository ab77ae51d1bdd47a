import torch

from distpu.methods._parts import binary_entropy
from distpu.methods.p3mix import P3Mix, Partners, corrected, mixed_risk, most_uncertain
from distpu.train.data import Batch, PUData
from fixture import close, paper
from small import small


def tensor(*values):
    return torch.tensor(values, dtype=torch.float64)


def test_labels_are_corrected_and_uncertain_rows_are_marginal():
    p, s = tensor(0.9, 0.5, 0.1, 0.2), tensor(0, 0, 0, 1)
    y, marginal = corrected(p, s, 0.85)
    assert y.tolist() == [1, 0, 0, 1]
    assert marginal.tolist() == [False, True, False, False]
    ends = corrected(tensor(0.25, 0.75), tensor(0, 0), 0.75)[1]
    assert ends.tolist() == [True, True]  # the interval is closed


def test_the_pool_has_the_most_uncertain_labelled_rows():
    p, s = tensor(0.95, 0.6, 0.8, 0.3, 0.5), tensor(1, 1, 1, 1, 0)
    entropies = [0.1985152433, 0.6730116670, 0.5004024235, 0.6108643021]
    close(binary_entropy(torch.logit(p))[:4], entropies, 1e-9)
    assert sorted(most_uncertain(torch.logit(p), s, 2).tolist()) == [1, 3]  # not the unlabelled row 4


def test_the_risk_by_hand():
    z, y, s = torch.logit(tensor(0.8, 0.6, 0.75)), tensor(0.7, 0.3, 0.7), tensor(1, 0, 0)
    terms = mixed_risk(z, y, s, beta=1.0, kappa=0.1)
    close(terms["labelled"], 0.6390318597, 1e-9)
    close(terms["unlabelled"], 0.7059584792, 1e-9)
    close(terms["entropy"], 0.05785830784, 1e-9)
    close(sum(terms.values()), 1.4028486467, 1e-9)


class Seen(torch.nn.Module):
    """A network of p = 0.5 for every row; it keeps what it was shown."""

    def __init__(self):
        super().__init__()
        self.weight, self.rows = torch.nn.Parameter(torch.zeros(())), []

    def forward(self, x):
        self.rows.append(x.detach().clone())
        return self.weight * x[:, 0]


def test_marginal_rows_get_partners_from_the_pool_and_others_from_the_batch():
    s = torch.tensor([1.0, 1.0, 0.0, 0.0])
    data = PUData(torch.tensor([[10.0], [20.0], [30.0], [40.0]]), s, float("nan"))
    objective = Partners(paper(P3Mix(pool=2)), data)
    objective.pool.fill_(-1000.0)
    net, batch = Seen(), Batch(torch.arange(4), data.x, s)
    torch.manual_seed(0)
    objective(net, batch, torch.tensor(0.0))
    assert (net.rows[-1] > 0).all()  # before the start nobody is mixed with the pool
    objective.correcting = True
    objective(net, batch, torch.tensor(0.0))
    mixed = net.rows[-1].flatten()
    assert (mixed[2:] < 30).all() and (mixed[:2] > 0).all()


def test_the_pool_is_chosen_after_each_epoch(toy):
    X, s, y = toy
    fitted = small("p3mix", start=1, epochs=12).fit(X, s)
    assert (fitted.predict(X) == y)[s == 0].mean() > 0.8
    data = PUData(torch.tensor([[0.0], [3.0], [0.1]]), torch.tensor([1.0, 1.0, 0.0]), float("nan"))
    objective = Partners(paper(P3Mix(pool=1)), data)
    objective.choose(torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Flatten(0)).requires_grad_(False))
    assert objective.pool.shape == (1, 1) and float(objective.pool[0, 0]) in (0.0, 3.0)  # never the unlabelled row
