"""docs/thresholds.md: its code runs, and its own tool makes its table and its figure."""

import runpy

import numpy as np

from distpu.threshold.choice import PLAIN, VALUED
from pages import ROOT, blocks, table, text_of
from threshold.test_threshold import draw

PAGE = "docs/thresholds.md"


def test_the_code_of_the_guide_runs(toy, capsys):
    X, s, y = toy
    z_p, z_u, _ = draw(30, 270, prior=0.4)
    z = np.empty(300)
    z[s == 1], z[s == 0] = z_p, z_u
    scope = {"X": X, "X_new": X, "s": s, "z": z}
    for block in blocks(PAGE):
        exec(block, scope)
    assert (y & scope["called"]).sum() / y.sum() > 0.8
    assert scope["p_there"].mean() < scope["p"].mean()
    said, check = capsys.readouterr().out.strip().splitlines()
    assert said.startswith("about 108 of 270 unlabelled rows are positive") and float(check) < 0.15


def test_the_guide_has_every_choice():
    text = " ".join(table(PAGE, "`threshold=`"))
    assert all(f'"{kind}' in text for kind in [*PLAIN, *VALUED])


def test_the_guides_numbers_are_what_its_tool_found(tmp_path, monkeypatch):
    tool = runpy.run_path(str(ROOT / "tools/thresholds.py"))
    lines = table(PAGE, "threshold", "rows called, in 2,000")
    assert [cell.strip("`") for cell in lines] == list(tool["CHOICES"])
    for choice, cells in lines.items():
        found, true = (
            [[float(part) for part in cell.split("±")] for cell in cells[::2]],
            [float(c) for c in cells[1::2]],
        )
        for (value, error), truth in zip(found, true, strict=True):
            assert abs(value - truth) <= 3 * error, (choice, value, truth)
    assert "The calibration error on the new rows is" in text_of(PAGE)
    page = tmp_path / "thresholds.md"
    page.write_text(text_of(PAGE).replace("| `auto` |", "| `other` |"))
    model, x, y = tool["fitted"]()
    assert tool["table"](model, x, y).splitlines()[2] in text_of(PAGE)
    monkeypatch.setitem(tool["figure"].__globals__, "PAGE", page)
    tool["figure"](model, model, x[:2000], y[:2000])
    assert page.with_suffix(".png").stat().st_size > 10_000


def test_the_guides_results_are_those_of_the_results_folder():
    text = " ".join(text_of(PAGE).split())
    mean = table("results/calibration/methods.md", "method")["mean"]
    assert f"over all methods the error falls from {mean[0]} to {mean[1]}" in text
    accuracy, by_f1 = f"({mean[4]}, against {mean[2]} for", f"({mean[5]}, against {mean[6]} for"
    assert accuracy in text and f'{mean[3]} for `"prior"`)' in text
    assert by_f1 in text and f'{mean[7]} for `"half"`)' in text
    for scorer in ("forest", "boosting"):
        forms = table("results/calibration/forms.md", "form", under=f"## Forms, on the scores of a {scorer}")
        before, after = (float(forms[form][0]) for form in ("none: sigma(log-odds)", "the mean of both"))
        assert f"{scorer} from {before:.3f} to {after:.3f}" in text
        assert f"{float(forms['the mean of both'][2]):.3f}" in text
    seen = table("results/calibration/forms.md", "probabilities")["calibrated and raw"]
    assert f"true error by {seen[2]} over all" in text
