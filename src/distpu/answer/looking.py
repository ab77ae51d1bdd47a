"""next_rows names the rows most worth looking at; with_verdicts takes back what a person said about them."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..files.run_folder import RunFolder
from ..files.scores import COLUMNS, cell, harmless, missing
from ..params import near

if TYPE_CHECKING:
    import pandas as pd

VERDICT = "verdict"
YES = ("yes", "y", "1", "1.0", "true", "positive", "found")
NO = ("no", "n", "0", "0.0", "false", "negative")
AMONG = 4  # the unsure rows are chosen from so many times as many rows, those nearest to the cut
NEGATIVE, FOUND = "looked at: no", "looked at: yes"  # label values of merged rows, unless a user named values


def next_rows(
    folder: str | Path, n: int = 50, *, data: Any = None, id: str | None = None, sheet: str | None = None
) -> pd.DataFrame:
    """Return the n unlabelled rows of a run folder that are most worth looking at, the likeliest first.

    One half are the likeliest positives: most of the positives that a look can find are there. The other half are
    rows near the cut, where a verdict changes most. They are spread over the rows nearest to the cut: with the table
    (`data`, a frame or the path of the file that was fitted), they are as unlike each other as possible; without, they
    are spread evenly by rank. Of rows with the same score, which are copies as a rule, one is named.

    The columns are id, rank, probability, why ("likely" or "unsure"), those of the table, and an empty `verdict`.
    `id` is the column that names the rows, and `sheet` the sheet of an Excel file, if fit was told one.
    """
    if not isinstance(n, (int, np.integer)) or n < 1:
        raise ValueError(f"n={n!r} must be a whole number of at least 1: the number of rows to look at")
    table = _scores(Path(folder))
    cells = None if data is None else _cells(data, id, sheet, table["id"])
    copies = table.duplicated(["score", "probability"]).to_numpy()
    order = np.concatenate([np.flatnonzero(~copies), np.flatnonzero(copies)])  # copies only where rows run out
    likely = order[: math.ceil(n / 2)]
    rest = order[len(likely) :]
    wanted = min(n - len(likely), len(rest))
    score = table["score"].to_numpy()
    nearest = rest[np.lexsort((np.abs(score[rest]), copies[rest]))][: AMONG * wanted]
    if cells is None:
        nearest = np.sort(nearest)
        unsure = nearest[np.linspace(0, len(nearest) - 1, wanted).round().astype(int)] if wanted else nearest[:0]
    else:
        unsure = nearest[_unlike(cells.iloc[nearest], wanted)]
    picked = np.sort(np.concatenate([likely, unsure]))
    chosen = table.loc[picked, ["id", "rank", "probability"]]
    chosen["why"] = np.where(np.isin(picked, likely), "likely", "unsure")
    if cells is not None:
        for name in cells.columns.difference([*chosen.columns, VERDICT], sort=False):
            chosen[name] = cells[name].to_numpy()[picked]
    chosen[VERDICT] = ""
    return chosen.reset_index(drop=True)


def write_rows(rows: pd.DataFrame, out: str | Path) -> None:
    """Write the rows as a .csv file for a person to fill in. A file that is there is kept: it may hold verdicts."""
    from ..files.atomic import write

    out = Path(out)
    if out.exists():
        raise ValueError(f"{out} is there and may hold verdicts; name another file")
    lines = [",".join(cell(value) for value in line) for line in (rows.columns, *rows.itertuples(index=False))]
    write(out, ("\n".join(lines) + "\n").encode("utf-8", "replace"))


def with_verdicts(
    y: np.ndarray,
    ids: np.ndarray | None,
    files: list[Any],
    positive: Any = None,
    negative: Any = None,
    found: Any = None,
) -> tuple[np.ndarray, Any, Any, Any]:
    """Put verdicts into labels. Returns the labels, and the values of positives, of negatives and of positives found.

    A labelled positive stays one if the verdict is yes. A blank verdict says nothing. The last verdict on a row counts.
    A warning says how many labelled positives became negatives.
    """
    names = np.arange(len(y)) if ids is None else ids
    place = {harmless(str(name)): i for i, name in enumerate(names.tolist())}
    y, marks = y.astype(object), (NEGATIVE if negative is None else negative, FOUND if found is None else found)
    before, known, used = (
        y.copy(),
        "1" if positive is None else str(positive),
        [negative is not None, found is not None],
    )
    turned: set[str] = set()
    for file in files:
        for name, yes in _verdicts(Path(file)).items():
            if name not in place:
                hint = f"{near(name, place)}; ids are the numbers of the rows, unless --id names a column"
                raise ValueError(f"{file} has a verdict on {name!r}, which the data do not hold{hint}")
            i = place[name]
            labelled = known in (str(before[i]), _short(before[i]))
            y[i] = before[i] if yes and labelled else marks[yes]
            used[yes] = True
            (turned.add if labelled and not yes else turned.discard)(name)
    if turned:
        warnings.warn(
            f"verdict no on {len(turned)} labelled positives, such as row {min(turned)!r}: they count as negatives; "
            "write yes, or leave the cell empty, if the label is right",
            UserWarning,
            stacklevel=3,
        )
    return y, positive, marks[0] if used[0] else None, marks[1] if used[1] else None


def _short(value: Any) -> str:
    return f"{float(value):g}" if isinstance(value, (bool, int, float, np.number)) else str(value)


def _scores(folder: Path) -> pd.DataFrame:
    import pandas as pd

    path = folder / RunFolder.RANKED
    if not path.is_file():
        raise FileNotFoundError(f"{folder} has no {RunFolder.RANKED}; distpu fit FILE --folder DIR writes one")
    table = pd.read_csv(path, dtype={"id": str}, na_values={"id": []}, keep_default_na=False)
    if tuple(table.columns) != COLUMNS or not len(table):
        raise ValueError(f"{path} is not what distpu fit wrote: it must hold {', '.join(COLUMNS)}; fit again")
    return table


def _cells(data: Any, id: str | None, sheet: str | None, ids: pd.Series) -> pd.DataFrame:
    """Return the rows of the table in the order of the ids."""
    import pandas as pd

    from .. import datasets

    if isinstance(data, pd.DataFrame):
        frame: Any = data
    else:
        with datasets.of_sheet(sheet, data):
            frame = datasets.read(data, texts=() if id is None else (id,))[0]
    if not isinstance(frame, pd.DataFrame):
        raise ValueError(f"{data} holds no table; leave --data out, in Python data=")
    if id is not None and id not in frame:
        raise ValueError(f"{data} has no column {id!r}{near(id, frame)} to name the rows")
    names = [harmless(str(name)) for name in (range(len(frame)) if id is None else as_ids(frame[id]).tolist())]
    place = {name: i for i, name in enumerate(names)}
    unknown = [name for name in ids if name not in place]
    if unknown:
        raise ValueError(
            f"{len(unknown)} rows of scores.csv are not in the data, such as {unknown[0]!r}; name the file that was "
            "fitted, and its --id"
        )
    return frame.iloc[[place[name] for name in ids]].reset_index(drop=True)


def as_ids(names: pd.Series) -> np.ndarray:
    """Return the names of rows as fit writes them: 1.0 is 1 where every name is a whole number."""
    import pandas as pd

    whole = pd.api.types.is_float_dtype(names) and bool((names == names.round()).all())
    return (names.astype("int64") if whole else names.astype(object)).to_numpy()


def _unlike(rows: pd.DataFrame, k: int) -> np.ndarray:
    """Return k places, each the row most unlike those before it; the first is the row nearest to the cut.

    Two rows differ by the mean over the columns: of numbers the difference of ranks, of others 1 where they differ.
    """
    import pandas as pd

    numbers = [name for name in rows if pd.api.types.is_numeric_dtype(rows[name])]
    others = [name for name in rows if name not in numbers]
    ranks = np.column_stack([rows[name].rank(pct=True).fillna(0) for name in numbers] or [np.zeros(len(rows))])
    codes = np.column_stack([_codes(rows[name]) for name in others] or [np.zeros(len(rows))])
    picked: list[int] = []
    away = np.full(len(rows), np.inf)
    for _ in range(k):
        picked.append(int(np.argmax(away)))
        last = picked[-1]
        apart = np.abs(ranks - ranks[last]).sum(1) + (codes != codes[last]).sum(1)
        away = np.minimum(away, apart)
        away[picked] = -1.0
    return np.array(picked, dtype=int)


def _codes(column: pd.Series) -> np.ndarray:
    """Return a number for each value; equal values, lists and blanks too, have the same."""
    return np.unique(["" if missing(value) else repr(value) for value in column], return_inverse=True)[1]


def _verdicts(path: Path) -> dict[str, bool]:
    """Return the verdicts of a file that `write_rows` wrote and a person filled in: True for positive."""
    import pandas as pd

    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False, sep=None, engine="python", encoding="utf-8-sig")
    except (UnicodeDecodeError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as .csv ({error}); save it as CSV with UTF-8") from None
    for name in ("id", VERDICT):
        if name not in table:
            raise ValueError(f"{path} has no column {name!r}{near(name, table)}; distpu next --out writes such a file")
    found: dict[str, bool] = {}
    for name, text in zip(table["id"], table[VERDICT].str.strip().str.casefold(), strict=True):
        if text in YES or text in NO:
            found[name] = text in YES
        elif text:
            raise ValueError(f"{path} says {text!r} about row {name!r}; write yes or no, or leave the cell empty")
    return found
