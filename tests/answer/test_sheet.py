"""The contact sheet and the occlusion maps of a page on images."""

import base64
import io
import json

import numpy as np
import pytest
from PIL import Image

from distpu import fit_file
from distpu.answer.sheet import occlusion, overlaid, png


class Corner:
    """Scores an image by the brightness of its upper left quarter."""

    def decision_function(self, X):
        x = np.asarray(X, dtype=float)
        x = x if x.ndim == 3 else x.mean(axis=1 if x.shape[1] in (1, 3) else 3)
        return x[:, :8, :8].mean(axis=(1, 2)) / 255


@pytest.mark.parametrize("shape", [(16, 16), (1, 16, 16), (3, 16, 16), (16, 16, 3)])
def test_covering_what_counts_lowers_the_score(shape):
    X = np.zeros((20, *shape), np.uint8)
    X[0] = 255
    drop = occlusion(Corner(), X, 0)
    assert drop.shape == (16, 16)
    assert drop[:8, :8].min() > 0.02 and drop[11:, 11:].max() == 0
    assert X[0].min() == 255  # the rows themselves are left alone
    picture = overlaid(np.full((16, 16, 3), 100, np.uint8), drop)
    assert picture[4, 4, 0] > picture[4, 4, 1] + 50 and (picture[15, 15] == 100).all()


def test_an_image_that_nothing_lowers_stays_grey():
    picture = np.full((4, 4, 3), 80, np.uint8)
    np.testing.assert_array_equal(overlaid(picture, np.full((4, 4), -1.0)), picture)


def test_a_png_is_what_pillow_reads():
    picture = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(png(picture)))), picture)


@pytest.mark.parametrize("floats", [False, True])
def test_the_page_shows_the_top_images(floats, tmp_path):
    random = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = random.integers(0, 100, (60, 8, 8), dtype=np.uint8) + (150 * y[:, None, None]).astype(np.uint8)
    X = X / 255.0 if floats else X
    np.savez(tmp_path / "x.npz", X=X, y=(y == 1) & (np.arange(60) < 20))
    quick = {"method": "dist-pu", "prior": 0.4, "warm_up_epochs": 2, "epochs": 2, "progress": False}
    answer = fit_file(tmp_path / "x.npz", folder=tmp_path / "run", **quick)
    facts = json.loads((tmp_path / "run/report.json").read_text())["images"]
    assert [one["id"] for one in facts["sheet"]] == [str(row) for row in answer.ranked["id"].head(24)]
    assert len(facts["maps"]) == 6
    content = base64.b64decode(facts["sheet"][0]["src"].removeprefix("data:image/png;base64,"))
    picture = np.asarray(Image.open(io.BytesIO(content)))
    assert picture.shape == (96, 96, 3)
    want = X[int(facts["sheet"][0]["id"])] * (255 if floats else 1)
    np.testing.assert_allclose(picture[::12, ::12, 0], want, atol=8 if floats else 0)
    page = (tmp_path / "run/report.html").read_text()
    assert page.count('<img src="data:image/png;base64,') == 30
