import os

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # spinning threads collapse when cores are shared
os.environ.setdefault("SCIPY_ARRAY_API", "1")  # else scikit-learn skips its array API check

import numpy as np
import pytest
import torch

torch.set_num_threads(1)


def pytest_configure(config):
    """Tests run on the CPU, where a seed means the same bits everywhere, unless the GPU ones were asked for."""
    if config.option.markexpr != "gpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""


@pytest.fixture
def toy():
    """Two Gaussian clouds, 30 labelled positives, 270 unlabelled rows of which 40 % are positive: X, s, truth."""
    random = np.random.default_rng(0)
    y = (np.arange(300) < 138).astype(int)
    X = random.normal(size=(300, 6)) + 2.0 * y[:, None]
    s = (np.arange(300) < 30).astype(int)
    order = random.permutation(300)
    return X[order], s[order], y[order]
