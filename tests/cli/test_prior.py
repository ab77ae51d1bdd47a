"""`distpu prior`."""

import pytest

from distpu.prior import ON_SCORES
from terminal import distpu, done, refused


def test_estimates_side_by_side(here):
    names = [*ON_SCORES, "tice"]
    ended = distpu("prior", "table.csv", "--label", "fraud", "--estimators", ",".join(names), "--bootstrap", "10")
    assert ended.code == 0, ended.err
    head, *lines = ended.out.splitlines()
    assert "share" in head and "90 % interval" in head and "seconds" in head
    for name, line in zip(names, lines, strict=False):
        told, share, *span = line.split()[:5]
        low, word, high = (span[0], "to", span[2]) if name == "binormal" else ("0.001", "at most", span[2])
        assert told == name and " ".join(span) in (f"{low} {word} {high}", f"{word} {high}")
        assert 0 < float(low) <= float(share) <= float(high) < 1
    bbe = float(lines[0].split()[1])
    assert bbe == pytest.approx(0.4, abs=0.1)
    flat = " ".join(ended.out.split())
    assert "bbe, dedpul, elkan-noto, scott, tice: The share is an upper bound: the scores do not tell" in flat
    assert "binormal: The interval has two sides because binormal assumes a shape" in flat
    assert "reports the largest share that is consistent with the data" in flat
    assert f"distpu fit table.csv --label fraud --prior {bbe:.3g}" in flat
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
