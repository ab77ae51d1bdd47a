"""Training starts from weights in a file."""

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from distpu import DistPU, nets

SHORT = {"batch_size": 16, "random_state": 0, "progress": False}


def classifier(classes, channels=3):
    return nn.Sequential(nn.Conv2d(channels, 4, 3), nn.BatchNorm2d(4), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(4, classes))  # fmt: skip


@pytest.fixture
def ten_classes(tmp_path):
    """A network of ten classes, and its weights in a file."""
    torch.manual_seed(0)
    net = classifier(10)
    net[1].running_mean.uniform_()
    save_file(net.state_dict(), tmp_path / "w.safetensors")
    return net, str(tmp_path / "w.safetensors")


def test_all_but_the_head_is_taken(ten_classes):
    net, path = ten_classes
    own = classifier(1)
    head = own[-1].weight.clone()
    said = nets.load_weights(own, path)
    assert said == f"pretrained={path}: these do not fit one output and are learnt anew: 4.weight, 4.bias"
    assert torch.equal(own[0].weight, net[0].weight) and torch.equal(own[1].running_mean, net[1].running_mean)
    assert torch.equal(own[-1].weight, head)


def test_weights_that_fit_need_no_word(tmp_path):
    save_file(classifier(1).state_dict(), tmp_path / "w.safetensors")
    assert nets.load_weights(classifier(1), str(tmp_path / "w.safetensors")) == ""


def test_grey_and_colour(ten_classes, tmp_path):
    net, path = ten_classes
    grey, x = classifier(1, channels=1), torch.rand(2, 1, 8, 8)
    nets.load_weights(grey, path)
    torch.testing.assert_close(grey[0](x), net[0](x.expand(-1, 3, -1, -1)))
    save_file(grey.state_dict(), tmp_path / "grey.safetensors")
    colour = classifier(1)
    nets.load_weights(colour, str(tmp_path / "grey.safetensors"))
    torch.testing.assert_close(colour[0](x.expand(-1, 3, -1, -1)), grey[0](x))


def test_files_that_do_not_fit(ten_classes, tmp_path):
    _, path = ten_classes
    wide = classifier(1)
    wide[0] = nn.Conv2d(3, 5, 3)
    with pytest.raises(ValueError, match=r"'0.weight' has shape \(4, 3, 3, 3\), but the network's has \(5, 3, 3, 3\)"):
        nets.load_weights(wide, path)
    with pytest.raises(ValueError, match="has no 'conv1.weight', which the network needs"):
        nets.load_weights(nets.ResNet18(3), path)
    with pytest.raises(ValueError, match="must end in .safetensors, because other files may hold code"):
        nets.load_weights(wide, str(tmp_path / "w.pt"))
    with pytest.raises(FileNotFoundError, match="does not exist"):
        nets.load_weights(wide, str(tmp_path / "gone.safetensors"))
    (tmp_path / "bad.safetensors").write_text("text")
    with pytest.raises(ValueError, match="cannot be read"):
        nets.load_weights(wide, str(tmp_path / "bad.safetensors"))


def test_a_method_starts_from_them_and_its_own_model_is_such_a_file(tmp_path, capsys):
    X = np.random.default_rng(0).integers(0, 255, (40, 3, 9, 9), dtype=np.uint8)
    s = (np.arange(40) < 10).astype(int)
    told = {**SHORT, "network": "resnet-8", "prior": 0.4, "warm_up_epochs": 1, "epochs": 0}
    first = DistPU(**told).fit(X, s)
    path = str(first.save(tmp_path / "a") / "model.safetensors")
    still = DistPU(**told, pretrained=path, warm_up_lr=1e-12, warm_up_weight_decay=0).fit(X, s)
    for name, value in first.model_.body.named_parameters():
        torch.testing.assert_close(dict(still.model_.body.named_parameters())[name], value, atol=1e-6, rtol=0)
    assert capsys.readouterr().err == ""
    with pytest.raises(ValueError, match="it is of another network"):
        DistPU(**{**told, "network": "cnn-13"}, pretrained=path).fit(X, s, folder=tmp_path / "b")
    assert not (tmp_path / "b").exists()
