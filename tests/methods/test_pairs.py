import math

import torch

from distpu.methods._pairs import clamped, on_sphere, pair_loss, predictor, projector, same_class
from fixture import close, finite_difference, gradient

q = torch.tensor([[0.6, 0.8], [0.8, 0.6], [-0.6, 0.8]], dtype=torch.float64)
k = torch.tensor([[0.96, 0.28], [0.28, 0.96], [0.0, 1.0]], dtype=torch.float64)
p = torch.tensor([0.9, 0.7, 0.2], dtype=torch.float64)
MASK = same_class(p) >= 0.5


def test_which_rows_are_probably_of_one_class():
    same = same_class(p)
    close(same[0, 1], 0.66)
    close(same[0, 2], 0.26)
    close(same[1, 2], 0.38)
    assert MASK.tolist() == [[True, True, False], [True, True, False], [False, False, True]]


def test_the_loss_by_hand():
    close(pair_loss(q, k, MASK, eps=0), 0.4353214752, 1e-10)
    close(pair_loss(q, k, MASK, root=False), 0.3093333333, 1e-10)
    close(pair_loss(clamped(q), clamped(k), MASK, eps=0), 0.4353748019, 1e-10)
    close(pair_loss(q, k, torch.eye(3)), 0.4)


def test_the_root_pulls_far_pairs_less():
    """Slopes along the sphere: 2 sqrt(1-c^2) for the plain loss, sqrt(1+c) for the root."""
    mask = torch.tensor([[0.0, 1.0], [0.0, 1.0]], dtype=torch.float64)
    for c, plain, root in ((0.9, 0.872, 1.378), (0.2, 1.960, 1.095)):
        angle = torch.tensor([math.acos(c)], dtype=torch.float64, requires_grad=True)
        for kind, length in ((False, plain), (True, root)):

            def loss(a, kind=kind):
                rows = torch.stack([torch.cat([a.cos(), a.sin()]), torch.tensor([0.0, 1.0], dtype=torch.float64)])
                towards = torch.tensor([[0.0, 1.0], [1.0, 0.0]], dtype=torch.float64)
                return 2 * pair_loss(rows, towards, mask, kind, eps=0)

            value = loss(angle)
            close(gradient(value, angle), finite_difference(loss, angle), 1e-6)
            close(gradient(value, angle).abs(), [length], 1e-3)


def test_equal_rows_have_a_finite_slope():
    one = torch.tensor([[1.0, 0.0], [1.0, 0.0]], requires_grad=True)
    assert gradient(pair_loss(one, one.detach(), torch.ones(2, 2)), one).isfinite().all()


def test_the_heads_have_ncpus_sizes():
    sizes = [layer.weight.shape for layer in (*projector(512), *predictor()) if isinstance(layer, torch.nn.Linear)]
    assert sizes == [(2048, 512), (128, 2048), (512, 128), (128, 512)]
    close(on_sphere(torch.randn(4, 3)).square().sum(1), torch.ones(4), 1e-6)
