"""Networks of timm and torchvision by name. A stub stands for a package that is not installed."""

import sys
import types

import numpy as np
import pytest
import torch
from torch import nn

import distpu
from distpu import DistPU, nets
from distpu.nets.outside import three_channels

SHORT = {"batch_size": 16, "random_state": 0, "progress": False}


class Tiny(nn.Module):
    """A network as timm builds it; `size` is set where it is made for one size of images."""

    def __init__(self, channels, outputs, size=None):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(channels, 4, 3), nn.Linear(4, outputs)
        self.pretrained_cfg = {"fixed_input_size": True} if size else {}
        self.size = size

    def forward(self, x):
        assert self.size is None or tuple(x.shape[2:]) == self.size
        z = self.fc(self.conv(x).mean((2, 3)))
        return (z, z.detach()) if self.training else z  # as a network with a side exit


@pytest.fixture
def timm(monkeypatch):
    def create_model(name, pretrained, num_classes, in_chans, img_size=None):
        assert not pretrained  # else weights would be downloaded
        return Tiny(in_chans, num_classes, (img_size or (224, 224)) if name == "tiny_vit" else None)

    stub = types.ModuleType("timm")
    stub.create_model, stub.list_models = create_model, lambda: ["tiny", "tiny_vit"]
    stub.is_model = lambda name: name in stub.list_models()
    monkeypatch.setitem(sys.modules, "timm", stub)


@pytest.fixture
def torchvision(monkeypatch):
    models = types.ModuleType("torchvision.models")
    models.get_model = lambda name, weights, num_classes: Tiny(3, num_classes) if weights is None else pytest.fail()
    models.list_models = lambda: ["tiny"]
    package = types.ModuleType("torchvision")
    package.models = models
    monkeypatch.setitem(sys.modules, "torchvision", package)
    monkeypatch.setitem(sys.modules, "torchvision.models", models)


@pytest.mark.parametrize("shape", [(1, 9, 9), (3, 9, 9), (4, 9, 9)])
@pytest.mark.parametrize("name", ["timm:tiny", "timm:tiny_vit", "torchvision:tiny"])
def test_any_channels_give_one_logit(name, shape, timm, torchvision):
    net = nets.Network(nets.body(name, shape), torch.zeros(()), torch.ones(()))
    for mode in (True, False):
        assert net.train(mode)(torch.rand(5, *shape)).shape == (5,)


def test_channels():
    grey, four = torch.rand(2, 1, 3, 3), torch.rand(2, 4, 3, 3)
    torch.testing.assert_close(three_channels(grey), torch.cat([grey] * 3, 1))
    assert torch.equal(three_channels(four), four[:, :3])


def test_a_saved_folder_restores_the_network_by_name(timm, tmp_path):
    X = np.random.default_rng(0).integers(0, 255, (40, 1, 9, 9), dtype=np.uint8)
    s = (np.arange(40) < 10).astype(int)
    fitted = DistPU(**SHORT, network="timm:tiny", prior=0.4, warm_up_epochs=1, epochs=1).fit(
        X, s, folder=tmp_path / "a"
    )
    assert fitted.model_.mean.shape == (3, 1, 1)  # ImageNet's constants, for three channels of one
    for folder in (tmp_path / "a", fitted.save(tmp_path / "b")):
        np.testing.assert_array_equal(distpu.load(folder).decision_function(X), fitted.decision_function(X))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("timm:tinny", "is not known to timm; did you mean 'tiny'"),
        ("torchvision:nothing", "is not known to torchvision"),
        ("tim:tiny", "did you mean 'timm'"),
        ("timm:hf-hub:someone/model", "is no name of a network"),  # would be fetched
        ("timm:../tiny", "is no name of a network"),
    ],
)
def test_wrong_names(name, says, timm, torchvision):
    with pytest.raises(ValueError, match=says):
        nets.check(name, "auto", (3, 9, 9))
    with pytest.raises(ValueError, match="takes images"):
        nets.check("timm:tiny", "auto", (9,))


@pytest.mark.parametrize("package", ["timm", "torchvision"])
def test_a_package_that_is_not_installed(package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not there
    monkeypatch.delitem(sys.modules, f"{package}.models", raising=False)
    with pytest.raises(ModuleNotFoundError, match=f"needs {package}; type: pip install {package}"):
        nets.body(f"{package}:resnet18", (3, 32, 32))


@pytest.mark.parametrize("name", ["timm:resnet18", "timm:vit_tiny_patch16_224", "torchvision:resnet18"])
def test_the_real_package(name):
    pytest.importorskip(name.split(":")[0], reason="not installed; no test environment needs it")
    assert nets.body(name, (1, 32, 32)).eval()(torch.rand(2, 1, 32, 32)).shape == (2, 1)
