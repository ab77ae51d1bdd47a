import math

import numpy as np
import pytest
import torch

from distpu import NNPU, DistPU
from distpu.train import views
from fixture import close
from small import interrupt, small_net

PIXEL = torch.tensor([0.2, 0.4, 0.6], dtype=torch.float64).view(1, 3, 1, 1)
ONE = torch.ones(1, dtype=torch.float64)


def images(n=12, channels=3, size=8, seed=0):
    return np.random.default_rng(seed).integers(0, 256, size=(n, channels, size, size), dtype=np.uint8)


def colours(x):
    return x.flatten()


def test_a_pixel_by_hand():
    close(views.grey(PIXEL).flatten(), [0.363])
    close(colours(views.saturation(PIXEL, 1.4 * ONE)), [0.1348, 0.4148, 0.6948])
    close(colours(views.brightness(PIXEL, 1.2 * ONE)), [0.24, 0.48, 0.72])
    close(colours(views.hue(PIXEL, 0.1 * ONE)), [0.1533042351, 0.4656872847, 0.3842420842], 1e-10)
    close(colours(views.hue(PIXEL, 0 * ONE)), colours(PIXEL))
    two = torch.tensor([[0.2, 0.6]]).view(1, 1, 1, 2)
    close(colours(views.contrast(two, torch.tensor([0.5]))), [0.3, 0.5], 1e-7)


def test_a_crop_by_its_padding_and_two_flips_change_nothing():
    x = torch.from_numpy(images()).float()
    four = torch.full((12,), 4)
    assert torch.equal(views.crop(x, four, four, 4), x)
    every = torch.ones(12, dtype=torch.bool)
    assert torch.equal(views.flip(views.flip(x, every), every), x)
    some = torch.arange(12) % 2 == 0
    assert torch.equal(views.flip(x, some)[1::2], x[1::2]) and torch.equal(views.flip(x, some)[::2], x[::2].flip(-1))


def test_a_crop_is_that_of_a_padded_image():
    x = torch.from_numpy(images()).float()
    random = np.random.default_rng(1)
    top, left = (torch.from_numpy(random.integers(0, 9, 12)) for _ in range(2))
    padded = torch.nn.functional.pad(x, (4, 4, 4, 4), mode="reflect")
    naive = torch.stack([p[:, t : t + 8, a : a + 8] for p, t, a in zip(padded, top, left, strict=True)])
    assert torch.equal(views.crop(x, top, left, 4), naive)


def test_ten_thousand_crops_of_one_bright_pixel_spread_it_evenly():
    x = torch.zeros(10_000, 1, 25, 25)
    x[:, :, 12, 12] = 1
    torch.manual_seed(0)
    mean = views.View(shift=4 / 25)(x).mean((0, 1))
    assert (mean[8:17, 8:17] - 1 / 81).abs().max() < 0.005
    assert mean[8:17, 8:17].sum().item() == pytest.approx(1) and mean.sum().item() == pytest.approx(1)


def test_the_identity_warp_reproduces_the_image_and_a_quarter_turn_turns_it():
    x = torch.from_numpy(images()).float() / 255
    zero, one = torch.zeros(12), torch.ones(12)
    close(views.warp(x, views.affine(zero, one, zero, zero, zero)), x, 1e-6)
    close(views.warp(x, views.resized_crop(one, zero, one, one)), x, 1e-6)
    turned = views.warp(x, views.affine(zero + math.pi / 2, one, zero, zero, zero))
    close(turned, torch.rot90(x, 1, (2, 3)), 1e-5)


def test_a_resized_crop_stays_inside_the_image():
    quarter, log2, one = torch.tensor([0.25]), torch.tensor([math.log(2)]), torch.ones(1)
    ((wide, _, across), (_, high, down)) = views.resized_crop(quarter, log2, one, -one)[0].tolist()
    assert wide * high == pytest.approx(0.25) and wide / high == pytest.approx(2)
    assert across + wide == pytest.approx(1) and down - high == pytest.approx(-1)


def test_cutout_covers_exactly_its_square():
    x = torch.ones(3, 2, 8, 8)
    at, side = torch.tensor([0, 3, 4]), torch.tensor([2, 3, 4])
    covered = views.cutout(x, at, at, side, 0.0)
    assert (covered == 0).sum((1, 2, 3)).tolist() == [2 * 4, 2 * 9, 2 * 16]
    assert covered[1, 0, 3, 3] == 0 and covered[1, 0, 2, 3] == 1
    holes = views.View(hole=(0.5, 0.5), fill=-1.0)(torch.ones(100, 3, 8, 8))
    assert ((holes == -1).sum((1, 2, 3)) == 3 * 16).all()


@pytest.mark.parametrize("channels, size, kind", [(3, 32, "photo"), (1, 28, "drawing"), (1, 64, "scan")])
def test_views_by_the_kind_of_images(channels, size, kind):
    x = images(channels=channels, size=size)
    assert views.kind_of(x) == kind
    found = views.views_for("auto", x)
    torch.manual_seed(0)
    rows = torch.from_numpy(x).float()
    for view in vars(found).values():
        once, twice = view(rows), view(rows)
        assert once.shape == rows.shape and not torch.equal(once, twice)
        assert once.min() >= -1e-3 and once.max() <= 255 + 1e-3
    assert not torch.equal(found.weak(rows), rows)


def test_three_equal_channels_are_grey_and_tables_have_no_views():
    assert views.kind_of(np.repeat(images(channels=1, size=64), 3, axis=1)) == "scan"
    assert views.views_for("auto", np.zeros((5, 3))) is views.PLAIN
    assert views.views_for("none", images()) is views.PLAIN
    weak = views.views_for("weak", images())
    assert weak.strong == weak.weak != views.views_for("auto", images()).strong


def test_images_of_other_values_keep_their_range():
    x = images(size=16).astype(np.float32) / 100 - 1
    found = views.views_for("auto", x).strong
    assert (found.low, found.high) == (x.min(), x.max())
    out = found(torch.from_numpy(x))
    assert x.min() - 1e-5 <= out.min() and out.max() <= x.max() + 1e-5


def fitted(view, **settings):
    x = images(60)
    x[:30] //= 2
    told = dict(prior=0.3, network=small_net, epochs=3, batch_size=16, random_state=0, device="cpu")
    return NNPU(views=view, **{**told, **settings}).fit(x, np.arange(60) < 20), x


def test_views_change_the_training_by_the_seed_and_not_the_scores():
    plain, x = fitted("none")
    shown, again, other = fitted("auto")[0], fitted("auto")[0], fitted("auto", random_state=1)[0]
    z = shown.decision_function(x)
    np.testing.assert_array_equal(z, again.decision_function(x))
    np.testing.assert_array_equal(z, shown.decision_function(x))  # a row's score is not drawn
    assert not np.array_equal(z, plain.decision_function(x)) and not np.array_equal(z, other.decision_function(x))


def test_a_function_of_the_user_is_a_view_and_the_identity_changes_nothing():
    plain, x = fitted("none")
    mine, _ = fitted(lambda rows: rows + 0)
    np.testing.assert_array_equal(plain.decision_function(x), mine.decision_function(x))
    dark, _ = fitted(lambda rows: rows * 0)
    assert not np.array_equal(plain.decision_function(x), dark.decision_function(x))


def test_a_killed_run_sees_the_same_views(tmp_path, monkeypatch):
    x = images(60)
    x[:30] //= 2
    s = np.arange(60) < 20

    def method():
        known = dict(warm_up_epochs=3, epochs=3, batch_size=16, random_state=0)
        return DistPU(prior=0.3, network=small_net, views="auto", **known)

    whole = method().fit(x, s)
    interrupt(monkeypatch, 2, 5)
    for _ in range(3):
        try:
            resumed = method().fit(x, s, folder=tmp_path / "run")
        except KeyboardInterrupt:
            pass
    np.testing.assert_array_equal(whole.decision_function(x), resumed.decision_function(x))


def test_what_views_may_be():
    with pytest.raises(ValueError, match="views='some' must be 'auto', 'weak', 'none', or a function"):
        fitted("some")
