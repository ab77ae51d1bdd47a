import pytest

from study.tiny import TINY, run


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reproduce")
    (folder / "tiny.toml").write_text(TINY)
    return folder, run(folder, str(folder / "tiny.toml"))
