"""The penguins: a raw table for the demo, as its authors published it, with blanks, dates, categories, text and ids.

Gorman, Williams and Fraser, Ecological Sexual Dimorphism and Environmental Variability within a Community of Antarctic
Penguins, PLoS ONE 9(3), 2014. The data are in the public domain (CC0); penguins.csv is their file, cell for cell.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

SOURCE = Path(__file__).with_name("penguins.csv")
SEX, LABEL = "Sex", "known_female"


def penguins(labelled: int = 60, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a PU table and the truth: 1 female, 0 male, NaN where nobody knows.

    The column `known_female` says "yes" for `labelled` females, drawn with the seed, and is blank elsewhere.
    """
    import pandas as pd

    table = pd.read_csv(SOURCE)
    sex = table.pop(SEX)
    truth = np.where(sex.isna(), np.nan, (sex == "FEMALE").astype(float))
    known = np.random.default_rng(seed).choice(np.flatnonzero(truth == 1), labelled, replace=False)
    table[LABEL] = None
    table.loc[known, LABEL] = "yes"
    return table, truth
