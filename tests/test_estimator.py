"""What every method has: presets resolved in fit, told settings that stay, classes that are whole."""

import errno
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import clone

import distpu
from distpu import METHODS, BaggingPU, DistPU, PUEstimator
from distpu.methods import make
from distpu.methods._network import SMALL, NetworkMethod
from distpu.params import param, resolved
from small import NETWORKS, small_net

SHORT = dict(prior=0.4, network=small_net, random_state=0)


def test_a_preset_follows_from_the_data_and_is_kept(toy):
    X, s, _ = toy
    fitted = DistPU(**SHORT, warm_up_epochs=1, epochs=2).fit(X, s)
    assert fitted.preset_ == "small" and fitted.preset == "auto"
    assert fitted.settings_["epochs"] == 2  # told
    assert fitted.settings_["alpha"] == DistPU.presets["small"]["alpha"] != 6.0
    assert fitted.epochs == 2 and fitted.alpha is None  # fit leaves the parameters alone
    paper = DistPU(**SHORT, preset="paper", warm_up_epochs=1, epochs=1).fit(X, s)
    assert paper.preset_ == "paper" and paper.settings_["alpha"] == 6.0
    assert not np.array_equal(paper.decision_function(X), fitted.decision_function(X))


@pytest.mark.parametrize(
    ("shape", "rows", "preset"),
    [((30,), SMALL - 1, "small"), ((30,), SMALL, "paper"), ((1, 28, 28), 900, "small"), ((1, 224, 224), 900, "cpu"),
     ((3, 32, 32), SMALL, "cpu")],
)  # fmt: skip
def test_small_tables_are_small_and_images_know_the_cpu(shape, rows, preset):
    method = DistPU(device="cpu")
    method.shape_ = shape
    assert method.preset_for(rows) == preset


def test_a_preset_leaves_a_network_that_was_told():
    assert resolved(DistPU, "cpu", DistPU().get_params())["network"] == "resnet-8"
    assert "network" not in resolved(DistPU, "cpu", DistPU(network="cnn-13", views="none").get_params())
    assert "network" not in resolved(DistPU, "small", {})


def test_every_network_method_has_a_network_for_a_cpu():
    for name in NETWORKS:
        assert resolved(METHODS[name], "cpu", {})["network"] == "resnet-8", name
        assert "network" not in resolved(METHODS[name], "paper", {})


def test_a_told_setting_stays_even_where_it_equals_the_papers(toy):
    assert resolved(DistPU, "small", {"epochs": 60})["epochs"] == 60
    assert resolved(DistPU, "small", {"epochs": None})["epochs"] == DistPU.presets["small"]["epochs"] == 40
    assert clone(DistPU(epochs=60)).epochs == 60


@pytest.mark.parametrize("name", NETWORKS)
def test_presets_hold_settings_that_exist_and_are_allowed(name):
    cls = METHODS[name]
    for preset, settings in cls.presets.items():
        assert settings.keys() - {"network", "views"} <= resolved(cls, "paper", {}).keys(), f"{preset}: not `tuned`"
        make(name, settings)
    assert None not in resolved(cls, "paper", {}).values()


def test_an_unknown_preset_is_named_with_the_nearest(toy):
    X, s, _ = toy
    with pytest.raises(ValueError, match="dist-pu has no preset 'smal'; did you mean 'small'"):
        DistPU(preset="smal").fit(X, s)


def test_a_forgotten_decorator_is_refused_at_once():
    class Forgotten(NetworkMethod):
        name = "forgotten"
        power: float = param(1.0, "an exponent")

    with pytest.raises(TypeError, match=r"Forgotten has the setting 'power' but no decorator; write @dataclass"):
        Forgotten()

    @dataclass(eq=False, repr=False, kw_only=True)
    class Whole(NetworkMethod):
        name = "whole"
        power: float = param(1.0, "an exponent")

    class Plain(NetworkMethod):
        name = "plain"
        alpha: float = 1.0  # without param() it would be no setting at all

    with pytest.raises(TypeError, match="Plain has the setting 'alpha' but no decorator"):
        Plain()

    @dataclass
    class Bare(NetworkMethod):
        name = "bare"

    with pytest.raises(TypeError, match="Bare has a decorator without eq=False"):
        Bare()

    class OnlyOtherwise(Whole):  # no setting of its own: nothing to decorate
        def _learn(self, run):
            return run.net()

    assert OnlyOtherwise(power=2.0).power == 2.0


def test_every_method_has_one_base():
    assert all(issubclass(cls, PUEstimator) for cls in METHODS.values())
    assert "a finished `folder` is restored instead of trained" in PUEstimator.fit.__doc__.splitlines()[0]


def test_settings_are_kept_with_the_model(toy, tmp_path):
    X, s, _ = toy
    fitted = DistPU(prior=0.4, random_state=0, warm_up_epochs=1, epochs=1).fit(X, s, folder=tmp_path / "run")
    loaded = distpu.load(tmp_path / "run")
    assert (loaded.preset_, loaded.settings_) == (fitted.preset_, fitted.settings_)


def test_a_save_that_fails_leaves_no_folder(toy, tmp_path, monkeypatch):
    X, y = toy[:2]
    model = BaggingPU(n_estimators=3, prior=0.4, random_state=0).fit(X, y)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("distpu.files.run_folder.RunFolder.finish", full)
        with pytest.raises(OSError, match="No space left"):
            model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
    model.save(tmp_path / "model")
