"""The picture of docs/report.md: the page of a real table, in Chromium at 1280 and at 390 pixels.

python tools/report.py FOLDER         fits into FOLDER, then writes docs/report.png and docs/report-phone.png

It needs Chromium, playwright and Pillow. The table is scikit-learn's breast cancer set. Malignant cases are the
positives, and three in ten of them are labelled. True labels serve for that draw and for the counts printed at the end.
"""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_breast_cancer

from distpu import fit_file

DOCS = Path(__file__).parents[1] / "docs"
SIZES = {"report.png": (1280, 1730), "report-phone.png": (390, 1180)}


def example(folder: Path) -> tuple[Path, np.ndarray]:
    """Write the table; return its path and which rows are positive in truth."""
    data = load_breast_cancer(as_frame=True)
    malignant = (data.target == 0).to_numpy()
    random = np.random.default_rng(0)
    known = malignant & (random.random(len(malignant)) < 0.3)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "patients.csv"
    data.data.assign(malignant=np.where(known, 1, np.nan)).to_csv(path, index=False)
    return path, malignant


def main(folder: Path) -> None:
    path, malignant = example(folder)
    answer = fit_file(path, "malignant", folder=folder / "run")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, (width, height) in SIZES.items():
            tab = browser.new_page(viewport={"width": width, "height": height})
            tab.goto((folder / "run/report.html").resolve().as_uri())
            picture = Image.open(io.BytesIO(tab.screenshot()))
            picture.quantize(160).save(DOCS / name, optimize=True)
        browser.close()
    called = answer.ranked.index[answer.ranked["decision"] == 1]
    hidden = malignant[answer.ranked.index].sum()
    right = malignant[called].sum()
    print(pd.Series({"hidden": hidden, "expected": round(answer.hidden), "called": len(called), "right": right}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
