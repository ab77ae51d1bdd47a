"""Rules of settings, the nearest name, and what to type for a missing package."""

import subprocess
import sys

import pytest

from distpu.params import near, need


def test_a_missing_package_says_what_to_type():
    assert need("json", "cli", "reading").loads("1") == 1
    with pytest.raises(ModuleNotFoundError, match="drawing needs no_such_package; type: pip install .distpu.plots"):
        need("no_such_package", "plots", "drawing")


def test_the_command_without_its_packages_says_what_to_type():
    code = "import sys; sys.modules['typer'] = None; sys.argv = ['distpu']; import distpu.__main__ as m; m.main()"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.returncode == 2
    assert found.stderr == 'distpu: the command line needs typer; type: pip install "distpu[cli]"\n'


def test_the_nearest_name():
    assert near("nnpuu", ["nnpu", "upu"]) == "; did you mean 'nnpu'?"
    assert near("xyz", ["nnpu", "upu"]) == ""
    assert near(2.0, [20, 3]) == "; did you mean '20'?"
