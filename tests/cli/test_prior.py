"""`distpu prior`."""

import pytest

from distpu.prior import ON_SCORES
from terminal import distpu, done, refused


def test_estimates_side_by_side(here):
    names = ["binormal", *(name for name in ON_SCORES if name != "binormal"), "tice"]
    ended = distpu("prior", "table.csv", "--label", "fraud", "--estimators", ",".join(names), "--bootstrap", "10")
    assert ended.code == 0, ended.err
    head, *lines = ended.out.splitlines()
    assert "share" in head and "90 % interval" in head and "seconds" in head
    for name, line in zip(names, lines, strict=False):
        told, share, *span = line.split()[:5]
        assert told == name and 0 < float(share) <= float(span[2]) < 1 and span[1] in ("to", "most")
    assert float(lines[0].split()[1]) == pytest.approx(0.4, abs=0.1)
    flat = " ".join(ended.out.split())
    assert "binormal is what distpu fit takes: the same share, from the same scores" in flat
    assert "next: distpu fit table.csv --label fraud" in flat and "--prior" not in flat
    assert f"{len(names)}/{len(names)} tice: " in ended.err


def test_a_picture(here):
    done("prior", "table.csv", "--label", "fraud", "--estimators", "bbe", "--bootstrap", "5", "--plot", "prior.png")
    assert (here / "prior.png").read_bytes().startswith(b"\x89PNG")


def test_mistakes(here):
    told = ("prior", "table.csv", "--label", "fraud")
    assert "'dedpull' is not known; did you mean 'dedpul'" in refused(*told, "--estimators", "dedpull")
    assert "level=2.0 must be above 0 and below 1" in refused(*told, "--level", "2")
    assert "needs a label column; add --label COLUMN" in refused("prior", "table.csv")
    assert "'tabel' is neither a file nor a data set" in refused("prior", "tabel")
