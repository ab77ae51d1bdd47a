"""Fixture A and B of the specification: labelled and unlabelled logits, and finite differences."""

import torch

from distpu.train.data import Batch

prior = 0.4
P = [2.0, 0.5, -1.0]
U_A = [1.5, -0.5, -2.0, 0.0, -3.0]
U_B = [-3.0, -2.5, -4.0, -1.5, -3.5]
s = torch.tensor([1.0] * 3 + [0.0] * 5)


def logits(case):
    return torch.tensor(P + {"A": U_A, "B": U_B}[case], dtype=torch.float64, requires_grad=True)


def close(actual, expected, tolerance=1e-9):
    expected = torch.as_tensor(expected, dtype=torch.float64).cpu()
    torch.testing.assert_close(torch.as_tensor(actual, dtype=torch.float64).cpu(), expected, rtol=0, atol=tolerance)


def gradient(value, z):
    return torch.autograd.grad(value, z, retain_graph=True)[0]


def finite_difference(function, z, step=1e-6):
    slopes = []
    for i in range(len(z)):
        shift = torch.zeros_like(z)
        shift[i] = step
        slopes.append((function(z.detach() + shift) - function(z.detach() - shift)) / (2 * step))
    return torch.stack(slopes)


class Table(torch.nn.Module):
    """A 'network' whose logit is the row's only feature, times one weight."""

    def __init__(self, weight=1.0):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor(weight))

    def forward(self, x):
        return self.weight * x[:, 0]


def batch_of(z):
    return Batch(torch.arange(len(z)), z.detach().float()[:, None], s)


def paper(method):
    """The method with the paper's value wherever none was told."""
    return method._with_preset("paper")
