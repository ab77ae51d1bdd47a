import torch
from torch.testing import assert_close

from distpu.methods.genpu import Game, Made, Play, Range, game, made_losses, value
from distpu.train.data import Batch, PUData


def logits(*p):
    return torch.logit(torch.tensor(p, dtype=torch.float64))


def test_the_game_by_hand():
    v_p = value(logits(0.8, 0.6), logits(0.3, 0.4))
    v_up, v_un = (value(logits(0.7, 0.6), made) for made in (logits(0.4, 0.5), logits(0.2, 0.3)))
    v_n = value(logits(0.9, 0.7), logits(0.2, 0.1))
    found = torch.stack([v_p, v_up, v_un, v_n, game(v_p, v_up, v_un, v_n, 0.4), 0.4 * v_up + 0.6 * v_un])
    expected = [-0.8007348714, -1.0357366860, -0.7236595315, -0.3952697633, -0.9316224839, -0.8484903933]
    assert_close(found, torch.tensor(expected, dtype=torch.float64), atol=1e-9, rtol=0)


def test_rows_that_look_positive_cost_the_negative_generator():
    same = logits(0.4, 0.5)
    low, high = (made_losses(same, same, same, logits(p, p), 0.4) for p in (0.1, 0.6))
    assert high[1] > low[1] and high[0] == low[0]
    more_real = made_losses(logits(0.9), logits(0.9), logits(0.9), logits(0.1), 0.4)
    less_real = made_losses(logits(0.2), logits(0.2), logits(0.2), logits(0.1), 0.4)
    assert more_real[0] < less_real[0] and more_real[1] < less_real[1]


def test_rows_are_scaled_to_one_and_back():
    x = torch.tensor([[1.0, 5.0], [3.0, 5.0], [2.0, 5.0]])
    scale = Range(x)
    assert_close(scale(x)[:, 0], torch.tensor([-1.0, 1.0, 0.0]))  # the second column is constant
    assert_close(scale.back(scale(x), (2,)), x)


def small_game():
    torch.manual_seed(0)
    data = PUData(torch.randn(20, 3), (torch.arange(20) < 6).float(), 0.4)
    return Game(data, 8, 4), Batch(torch.arange(20), data.x, data.s)


def test_generators_and_discriminators_get_no_slope_from_each_others_loss():
    players, batch = small_game()
    terms = Play(0.4)(players, batch, torch.zeros(()))
    names = [name for name, _ in players.named_parameters()]
    for term, moves in (
        ("discriminators", ("d_p", "d_u", "d_n")),
        ("positive generator", ("g_p",)),
        ("negative generator", ("g_n",)),
    ):
        slopes = torch.autograd.grad(terms[term], [*players.parameters()], retain_graph=True, allow_unused=True)
        moved = {name.split(".")[0] for name, slope in zip(names, slopes, strict=True) if slope is not None}
        assert moved == set(moves)


def test_the_classifier_learns_from_made_rows_alone():
    players, batch = small_game()
    net, seen = torch.nn.Sequential(torch.nn.Linear(3, 1), torch.nn.Flatten(0)), []
    net.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    terms = Made(players, 0.4)(net, batch, torch.zeros(()))
    assert seen[0].shape == (40, 3) and not torch.isin(batch.x, seen[0]).any()
    z_p, z_n = net(seen[0]).chunk(2)
    bce = torch.nn.functional.binary_cross_entropy_with_logits
    assert_close(terms["made"], 0.4 * bce(z_p, torch.ones(20)) + 0.6 * bce(z_n, torch.zeros(20)))
