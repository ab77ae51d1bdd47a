import math

import pytest
import torch
from torch import nn

from distpu import nets
from distpu.nets import scaling
from distpu.train.scoring import logits


def parameters(net):
    return sum(p.numel() for p in net.parameters())


def test_parameter_counts_of_the_papers_networks():
    assert parameters(nets.mlp((784,))) == parameters(nets.mlp((1, 28, 28))) == 507_901
    assert parameters(nets.cnn13((3, 32, 32))) == 3_015_255
    assert parameters(nets.ResNet50()) == 25_557_032 - 2048 * 999 - 999  # torchvision's count, less 999 outputs


@pytest.mark.parametrize(
    "name, count", [("resnet-18", 11_173_962 - 5130 + 513), ("preact-resnet-18", 11_171_146 - 5130 + 128 + 513)]
)
def test_resnet_18_for_small_images(name, count):
    net = nets.NETWORKS[name]((3, 32, 32))
    assert parameters(net) == count  # known counts for ten classes, less nine outputs; NcPU adds a norm after the stem
    assert net.layers(net.conv1(torch.zeros(1, 3, 32, 32))).shape == (1, 512, 4, 4)
    assert nets.NETWORKS[name]((1, 28, 28)).eval()(torch.zeros(2, 1, 28, 28)).shape == (2, 1)


@pytest.mark.parametrize("name, shape, width", [("mlp", (5,), 300), ("cnn-13", (3, 8, 8), 1000),
                                                ("preact-resnet-18", (3, 8, 8), 512)])  # fmt: skip
def test_features_are_what_the_last_layer_gets(name, shape, width):
    torch.manual_seed(0)
    net = nets.Network(nets.body(name, shape), torch.zeros(()), torch.ones(())).eval()
    x = torch.randn(3, *shape)
    features, z = net.features(x)
    assert features.shape == (3, width) == (3, nets.head_of(net.body).in_features)
    torch.testing.assert_close(z, net(x))
    torch.testing.assert_close(z, nets.head_of(net.body)(features).flatten())


def test_a_network_that_hides_its_features_is_refused():
    with pytest.raises(ValueError, match="Bilinear does not show its features; give a torch.nn.Sequential"):
        nets.head_of(nn.Bilinear(2, 2, 1))


def test_resnet_names_and_shapes_are_torchvisions():
    state = nets.ResNet50().state_dict()
    assert len(state) == 320  # torchvision's resnet50 has as many
    expected = {
        "conv1.weight": (64, 3, 7, 7),
        "bn1.running_var": (64,),
        "layer1.0.downsample.0.weight": (256, 64, 1, 1),
        "layer1.0.downsample.1.num_batches_tracked": (),
        "layer2.0.conv2.weight": (128, 128, 3, 3),
        "layer3.5.bn3.bias": (1024,),
        "layer4.2.conv3.weight": (2048, 512, 1, 1),
        "fc.weight": (1, 2048),
    }
    for name, shape in expected.items():
        assert tuple(state[name].shape) == shape, name


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("mlp", (7,)),
        ("mlp", (1, 8, 8)),
        ("cnn-13", (3, 32, 32)),
        ("cnn-13", (1, 10, 13)),
        ("resnet-8", (1, 9, 9)),
        ("resnet-8", (3, 64, 40)),
        ("resnet-50", (1, 40, 40)),
    ],
)
def test_networks_return_one_logit_per_row(name, shape):
    net = nets.Network(nets.body(name, shape), torch.zeros(()), torch.ones(()))
    assert net(torch.rand(4, *shape)).shape == (4,)


def test_auto_takes_the_papers_network():
    assert [nets.auto_network(s) for s in ((30,), (1, 28, 28), (3, 32, 32), (1, 224, 224), (3, 224, 224))] == [
        "mlp", "mlp", "cnn-13", "resnet-50", "resnet-50",
    ]  # fmt: skip


def test_initial_weights_are_kaiming_normal_with_zero_biases():
    torch.manual_seed(0)
    first = nets.mlp((784,))[1]
    assert first.bias is None
    assert abs(first.weight.std().item() - math.sqrt(2 / 784)) < 1e-3
    assert torch.equal(nets.mlp((784,))[-1].bias, torch.zeros(1))


def test_scalings():
    torch.manual_seed(0)
    table = torch.randn(5000, 3) * torch.tensor([1.0, 5.0, 0.0]) + torch.tensor([0.0, 100.0, 7.0])
    mean, scale = nets.scaling_constants("auto", table)
    scaled = (table - mean) / scale
    torch.testing.assert_close(scaled.mean(0), torch.zeros(3), atol=1e-4, rtol=0)
    torch.testing.assert_close(scaled.std(0, correction=0), torch.tensor([1.0, 1.0, 0.0]), atol=1e-4, rtol=0)
    images = torch.randint(0, 256, (20, 3, 6, 6), dtype=torch.uint8)
    mean, scale = nets.scaling_constants("auto", images)  # ImageNet's constants
    m, d = (torch.tensor(v).view(3, 1, 1) for v in (scaling.IMAGENET_MEAN, scaling.IMAGENET_STD))
    torch.testing.assert_close((images - mean) / scale, (images / 255 - m) / d)
    mean, scale = nets.scaling_constants("standard", images)
    torch.testing.assert_close(((images - mean) / scale).mean((0, 2, 3)), torch.zeros(3), atol=1e-4, rtol=0)
    grey = torch.randint(0, 256, (20, 1, 6, 6), dtype=torch.uint8)
    mean, scale = nets.scaling_constants("auto", grey)  # as the public code feeds Fashion-MNIST
    assert mean == 0 and scale == 1
    assert nets.scaling_constants("unit", grey)[1] == 255


def test_a_rows_logit_does_not_depend_on_its_neighbours():
    torch.manual_seed(0)
    model = nets.Network(nets.mlp((20,)), torch.zeros(20), torch.ones(20)).train()
    x = torch.randn(700, 20)
    whole = logits(model, x)
    assert model.training  # put back as it was
    assert torch.equal(whole[10:11], logits(model, x[10:11]))
    assert torch.equal(whole[5:400], logits(model, x[5:400]))


def test_a_users_network_with_and_without_the_shape():
    assert isinstance(nets.body(lambda shape: nn.Linear(shape[0], 1), (4,)), nn.Linear)
    assert isinstance(nets.body(lambda: nn.Linear(4, 1), (4,)), nn.Linear)
    assert isinstance(nets.body(lambda width=3: nn.Linear(4, width), (4,)), nn.Linear)
    with pytest.raises(ValueError, match="must return a torch.nn.Module"):
        nets.body(lambda: 3, (4,))
    with pytest.raises(ValueError, match=r"returns \(5, 2\) for 5 rows"):
        nets.Network(nn.Linear(4, 2), torch.zeros(()), torch.ones(()))(torch.rand(5, 4))


def test_unknown_or_unfit_networks():
    with pytest.raises(ValueError, match="did you mean 'resnet-50'"):
        nets.body("resnet50", (3, 32, 32))
    with pytest.raises(ValueError, match="takes images"):
        nets.body("cnn-13", (30,))


def test_a_value_far_out_does_not_squeeze_the_others():
    torch.manual_seed(0)
    x = torch.randn(2000, 3) * 5 + 7
    plain = nets.scaling_constants("standard", x)
    far = x.clone()
    far[17, 1] = 999_999.0
    mean, scale = nets.scaling_constants("standard", far)
    torch.testing.assert_close(mean[[0, 2]], plain[0][[0, 2]], rtol=0, atol=0)  # other columns to the bit
    assert (mean[1] - plain[0][1]).abs() < 0.2 and 0.9 < scale[1] / plain[1][1] < 1.2
    network = nets.Network(torch.nn.Linear(3, 1), mean, scale)
    seen = []
    network.body.register_forward_hook(lambda _, given, __: seen.append(given[0]))
    network(far)
    assert seen[0].abs().max() == scaling.FURTHEST and seen[0].std(0).max() < 2


def test_a_column_that_is_mostly_one_value_is_scaled_as_it_is():
    x = torch.zeros(1000, 2)
    x[3, 0], x[:, 1] = 1.0, torch.arange(1000.0)
    mean, scale = nets.scaling_constants("standard", x)
    torch.testing.assert_close(mean, torch.tensor([0.001, 499.5]))
    torch.testing.assert_close(scale, x.double().std(0, correction=0).float())
