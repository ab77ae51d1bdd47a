"""A table: few known cases, many rows nobody has looked at. Which rows come next, and how many cases are there?

The table is scikit-learn's breast cancer data: 569 tumours, 30 numbers each. 50 malignant ones are known; the label of
every other row is left empty, as in a table of your own. Run it with

    python examples/table.py

The same on the command line: distpu fit tumours.csv --label malignant
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

from distpu import DistPU


def write_table(path: Path) -> np.ndarray:
    """Write tumours.csv with 50 known cases; return the truth, which the method never sees."""
    data = load_breast_cancer(as_frame=True)
    truth = (data.target == 0).to_numpy()  # 0 is malignant there
    known = np.random.default_rng(0).choice(np.flatnonzero(truth), 50, replace=False)
    label = pd.Series(np.nan, index=data.data.index)
    label[known] = 1
    data.data.assign(malignant=label).to_csv(path, index=False)
    return truth


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tumours.csv"
        truth = write_table(path)
        table = pd.read_csv(path)

    X, y = table.drop(columns="malignant"), table["malignant"]  # 1 = known case, empty = not looked at
    clf = DistPU(random_state=0).fit(X, y)

    unlabelled = y.isna().to_numpy()
    print(f"{(~unlabelled).sum()} known cases, {unlabelled.sum()} rows that nobody has looked at")
    print(f"estimated share of cases among them: {clf.prior_:.1%}; the truth is {truth[unlabelled].mean():.1%}")

    ranked = pd.DataFrame({"probability": clf.predict_proba(X)[:, 1], "truth": truth})[unlabelled]
    ranked = ranked.sort_values("probability", ascending=False)
    print("\nthe likeliest rows, which you would look at first:")
    print(ranked.head(10).to_string(float_format="{:.3f}".format))

    called = ranked["probability"] >= 0.5
    found = ranked["truth"]
    print(f"\ncases among the first 50 rows: {found.head(50).sum()}")
    print(f"called positive: {called.sum()}, of which {found[called].mean():.1%} are cases")
    print(f"cases found: {(found & called).sum()} of {found.sum()}")
    print(f"rows called right: {(called == found).mean():.1%}")


if __name__ == "__main__":
    main()
