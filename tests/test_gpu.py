"""What a GPU must do. Run with `pytest -m gpu -n 0` on a machine that has one."""

import numpy as np
import pytest
import torch

import distpu
from distpu import METHODS
from small import small, small_net

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]


@pytest.mark.parametrize("name", METHODS)
def test_a_method_learns_on_the_gpu_and_its_model_scores_on_the_cpu(name, toy, tmp_path):
    X, s, y = toy
    labels = y if METHODS[name].supervised else s
    fitted = small(name, prior=0.4, epochs=20, device="cuda").fit(X, labels, folder=tmp_path / "run")
    assert next(fitted.model_.parameters()).device.type == "cuda"
    hidden = s == 0
    assert (fitted.predict(X) == y)[hidden].mean() > 0.8
    on_cpu = distpu.load(tmp_path / "run", small_net, device="cpu")
    np.testing.assert_allclose(on_cpu.decision_function(X), fitted.decision_function(X), rtol=1e-3, atol=1e-3)


def test_a_batch_and_its_targets_stay_on_the_gpu(toy):
    X, s, _ = toy
    fitted = distpu.DistPU(prior=0.4, warm_up_epochs=1, epochs=1, random_state=0, device="auto").fit(X, s)
    assert next(fitted.model_.parameters()).device.type == "cuda"
    assert all(np.isfinite(list(row.values())[3:]).all() for row in fitted.history_)
