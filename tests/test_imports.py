"""Heavy imports come late."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("statement", ["import distpu", "import distpu.cli", "import distpu.datasets"])
def test_importing_pulls_in_nothing_heavy(statement):
    heavy = "{'torch', 'sklearn', 'pandas', 'scipy', 'matplotlib', 'pyarrow'}"
    code = f"import sys; {statement}; print(sorted({heavy} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_public_names():
    import distpu

    assert set(distpu.__all__) == set(distpu._HOME) <= set(dir(distpu))
    for name in distpu.__all__:
        assert getattr(distpu, name) is not None
    for cls in distpu.METHODS.values():
        assert getattr(distpu, cls.__name__) is cls  # as `distpu methods NAME` tells a reader to import it
    with pytest.raises(AttributeError, match="no attribute 'DistPUU'"):
        _ = distpu.DistPUU
