"""Throws made-up files at distpu and reports every answer that is neither a result nor one clear line.

    python tools/fuzz.py --files 10000            # tables through reading and encoding
    python tools/fuzz.py --arrays 2000            # arrays and labels of every kind through fit and predict in Python
    python tools/fuzz.py --commands 300           # files through `distpu fit`, `predict`, `prior`, `diagnose`

A seed makes a file: columns of every kind, names as people and attackers write them, separators, encodings, blanks,
cells that change their kind half way, and in every fifth file bytes that were changed, cut off or repeated. The same
seed makes the same file, so a finding can be made again: --first SEED --files 1.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import os
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from unittest import mock

import numpy as np

NAMES = ["a", "Amount (EUR)", "id", "", " ", "a", "naïve", "=1+1", "<b>x</b>", "x,y", 'q"t', "日付", "label", "s" * 300,
         "1", "Unnamed: 0", "\u202ertl", "nul\u0000", "date", "text"]  # fmt: skip
BLANKS = ["", "NA", "?", "-", "null", "None", " ", "nan", "N/A", "--"]
WORDS = [
    "red",
    "green",
    "blue",
    "Ünïcode",
    "a b c",
    "=cmd()",
    "<script>",
    "0",
    "1",
    "true",
    "x" * 50,
    "'",
    '"',
    "\\",
    ";",
    "|",
]
LABELS = {"good": ["1", "0"], "blank": ["1", ""], "words": ["yes", ""], "minus": ["1", "-1"], "bool": ["true", "false"],
          "constant": ["0"], "all": ["1"], "three": ["1", "0", "2"], "floats": ["1.0", "0.0"],
          "rubbish": WORDS}  # fmt: skip


def cells(random: np.random.Generator, rows: int) -> list[str]:
    """Return the cells of one column."""
    kind = random.integers(12)
    if kind == 11:  # two kinds in one column
        cut = random.integers(rows + 1)
        return cells(random, int(cut)) + cells(random, rows - int(cut)) if rows else []
    number = random.normal(size=rows) * 10.0 ** random.integers(-3, 6)
    made = {
        0: lambda i: f"{number[i]:.4g}",
        1: lambda i: str(int(number[i])),
        2: lambda i: WORDS[random.integers(len(WORDS))],
        3: lambda i: WORDS[random.integers(3)],
        4: lambda i: f"20{random.integers(10, 30)}-{random.integers(1, 14):02d}-{random.integers(1, 32):02d}",
        5: lambda i: f"{random.integers(1, 32)}/{random.integers(1, 13)}/{random.integers(1900, 2100)}",
        6: lambda i: " ".join(WORDS[k] for k in random.integers(0, len(WORDS), random.integers(0, 12))),
        7: lambda i: f"id-{i:06d}",
        8: lambda i: "",
        9: lambda i: f"{abs(number[i]):,.2f}".replace(",", "'") + random.choice([" €", "%", "", " kg"]),
        10: lambda i: str(random.choice(["inf", "-inf", "1e400", "9" * 40, "0x1F", "1_000", "١٢", "1e-320"])),
    }[int(kind)]
    share = random.choice([0, 0.1, 0.9])
    return [str(random.choice(BLANKS)) if random.random() < share else made(i) for i in range(rows)]


def made_file(seed: int, folder: Path) -> tuple[Path, str]:
    """Write the file of a seed; return its path and the name of its label column."""
    random = np.random.default_rng(seed)
    rows, width = int(random.choice([0, 1, 2, 5, 20, 30, 40, 60, 60])), int(random.integers(0, 7))
    kind = str(random.choice([*["good", "blank", "words", "minus", "bool"] * 4, *LABELS]))
    label = [LABELS[kind][k] for k in random.integers(0, len(LABELS[kind]), rows)]
    columns = {f"{random.choice(NAMES)}{'' if random.random() < 0.3 else i}": cells(random, rows) for i in range(width)}
    names, values = [*columns, "label_"], [*columns.values(), label]
    separator = str(random.choice([",", ",", ";", "\t", "|"]))

    def quoted(text: str) -> str:
        odd = any(c in text for c in (separator, '"', "\n"))
        return '"' + text.replace('"', '""') + '"' if odd and random.random() < 0.9 else text

    lines = [separator.join(map(quoted, line)) for line in [names, *zip(*values, strict=True)]]
    text = str(random.choice(["\n", "\r\n"])).join(lines) + "\n"
    encoding = str(random.choice(["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "cp1252"]))
    content = text.encode(encoding, errors="replace")
    if random.random() < 0.2:
        content = damaged(content, random)
    ending = {"\t": ".tsv"}.get(separator, ".csv")
    if random.random() < 0.1:
        content, ending = gzip.compress(content), ending + ".gz"
        content = damaged(content, random) if random.random() < 0.3 else content
    path = folder / f"made-{seed}{ending}"
    path.write_bytes(content)
    return path, "label_"


def damaged(content: bytes, random: np.random.Generator) -> bytes:
    """Return content with bytes changed, cut off or repeated."""
    data = bytearray(content)
    for _ in range(int(random.integers(1, 6))):
        if not data:
            break
        at, what = int(random.integers(len(data))), int(random.integers(4))
        if what == 0:
            data[at] = int(random.integers(256))
        elif what == 1:
            del data[at:]
        elif what == 2:
            data[at:at] = data[max(0, at - 20) : at]
        else:
            data[at:at] = bytes(random.integers(0, 256, 5, dtype=np.uint8))
    return bytes(data)


def told(error: BaseException) -> str | None:
    """Return what is wrong with an error as a user meets it; None if it is one clear line of ours."""
    if not isinstance(error, (ValueError, FileNotFoundError)):
        return f"{type(error).__name__}: {error}"
    if len(str(error)) > 1500:
        return f"a message of {len(str(error))} characters"
    return None


def one_file(seed: int, folder: Path) -> str:
    """Read and encode the file of a seed; return 'fine', 'refused', or raise."""
    from distpu import datasets
    from distpu.encode import TableEncoder
    from distpu.inputs import read_labels

    path, label = made_file(seed, folder)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            X, y = datasets.read(path, label)
            s, _ = read_labels(y)
            encoder = TableEncoder(blanks="fill" if seed % 2 else "keep").fit(X, s)
            rows = np.asarray(encoder.transform(X), dtype=float)
            assert rows.shape == (len(X), len(encoder.get_feature_names_out())), "names and columns differ"
            assert not np.isinf(rows).any(), "an infinite number"
            assert not (seed % 2 and np.isnan(rows).any()), "a blank was not filled"
            half = np.asarray(encoder.transform(X.iloc[: len(X) // 2]), dtype=float)
            assert np.array_equal(half, rows[: len(X) // 2], equal_nan=True), "a part differs from the whole"
            state = TableEncoder.from_state(*encoder.to_state())
            assert np.array_equal(np.asarray(state.transform(X), dtype=float), rows, equal_nan=True), "restored differs"
    except Exception as error:
        if found := told(error):
            raise AssertionError(found) from error
        return "refused"
    finally:
        path.unlink(missing_ok=True)
    return "fine"


KINDS = ["float64", "float32", "float16", "int64", "int8", "uint8", "bool", "object", "<U8", "S8", "M8[s]", "m8[h]",
         "complex64", "masked", "bfloat16", "list", "frame", "polars", "wide ints"]  # fmt: skip


def made_rows(random: np.random.Generator, kind: str) -> tuple[object, np.ndarray | None]:
    """Return rows of a kind, and the numbers that they stand for; None if they are no numbers."""
    import pandas as pd

    rows, width = int(random.choice([0, 1, 5, 30, 30, 30])), int(random.choice([0, 1, 3, 3]))
    more = random.random()
    shape = (rows, width) if more < 0.8 else (rows, 4, width) if more < 0.9 else (rows,)
    values = np.round(random.normal(size=shape) * 10.0 ** random.integers(-2, 3), 3)
    if kind in ("masked", "float64", "object") and values.size and random.random() < 0.2:
        values.flat[random.integers(values.size)] = random.choice([np.inf, -np.inf, 1e300])
    if kind == "masked":
        mask = random.random(shape) < random.choice([0, 0.2])
        return np.ma.masked_array(values, mask=mask), np.where(mask, np.nan, values)
    if kind == "bfloat16":
        import torch

        tensor = torch.tensor(values).bfloat16()
        return tensor, tensor.float().numpy()
    if kind == "list":
        return values.tolist(), values
    if kind in ("frame", "polars"):
        import polars as pl

        plain = values.reshape(rows, -1) if rows else values.reshape(0, width)
        return (pd.DataFrame if kind == "frame" else pl.DataFrame)({f"c{i}": c for i, c in enumerate(plain.T)}), plain
    if kind == "wide ints":
        wide = np.array([10 ** int(random.integers(14, 400)) + int(v) for v in values.ravel()], dtype=object)
        return wide.reshape(shape), None
    with np.errstate(all="ignore"):
        made = (values * 1j).astype(kind) if kind == "complex64" else values.astype(kind)
    return made, made.astype(float) if made.dtype.kind in "fiub" or kind == "object" else None


def made_labels(random: np.random.Generator, rows: int) -> object:
    s = random.random(rows) < 0.4
    return [
        s, s.astype(int), np.where(s, 1, -1), np.where(s, 1.0, np.nan), np.where(s, "yes", "no"),
        np.where(s, "yes", None),
        np.ma.masked_array(np.ones(rows), mask=~s), s.astype("m8[s]"), s.astype("M8[s]"), s + 1j, [[int(v)] for v in s],
        np.zeros(rows, [("a", int)]), s.astype("S1"), [10**400 if v else 0 for v in s], s[: rows // 2], np.zeros(rows),
    ][int(random.choice([0, 1, 2, 3, 4, 5, 6, *range(16)]))]  # fmt: skip


def one_array(seed: int, folder: Path) -> str:
    """Fit a method on made-up arrays and labels; return 'fine', 'refused', or raise."""
    import distpu
    from distpu.inputs import read_labels

    random = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    X, numbers = made_rows(random, kind)
    y = made_labels(random, len(X))
    name = ["nnpu", "elkan-noto", "naive"][seed % 3]
    own = {"folds": 2} if name == "elkan-noto" else {"epochs": 1, "network": "mlp", "batch_size": 16}
    told_prior = {} if name == "naive" else {"prior": 0.3}

    def scores(rows: object, labels: object) -> np.ndarray:
        model = distpu.METHODS[name](**own, **told_prior, random_state=0, progress=False).fit(rows, labels)
        return np.asarray(model.decision_function(rows))

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            z = scores(X, y)
    except Exception as error:
        if found := told(error):
            raise AssertionError(f"{kind}, {type(y).__name__}: {found}") from error
        return "refused"
    assert numbers is not None, f"{kind} holds no numbers, and {name} took it"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        s, _ = read_labels(y)
        if kind in ("frame", "polars"):  # the encoder may leave columns out: equal frames of both kinds agree
            import pandas as pd

            numbers = pd.DataFrame({f"c{i}": c for i, c in enumerate(numbers.T)})
        plain = scores(X if kind == "uint8" else numbers, s)
    assert np.isfinite(z).all() and np.array_equal(z, plain), f"{kind} gives other scores than its numbers"
    return "fine"


def one_command(seed: int, folder: Path) -> str:
    """Run a command on the file of a seed, in this process; return 'fine', 'refused', or raise."""
    from distpu import cli

    path, label = made_file(seed, folder)
    random = np.random.default_rng(seed)
    run = folder / f"run-{seed}"
    command = str(random.choice(["fit", "fit", "fit", "prior", "diagnose"]))
    words = [command, str(path), "--label", label]
    if random.random() < 0.2:
        words += ["--positive", str(random.choice(["yes", "1", "true", "nothing"]))]
    if command == "fit":
        words += ["--folder", str(run)]
    for line in (words, ["predict", str(run), str(path), "--out", str(folder / f"out-{seed}.csv")]):
        if line[0] == "predict" and not (run / "done").exists():
            break
        out, err, code = io.StringIO(), io.StringIO(), 0
        with (
            mock.patch.object(sys, "argv", ["distpu", *line]),
            mock.patch.dict(os.environ, COLUMNS="80"),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            try:
                cli.main()
            except SystemExit as end:
                code = int(end.code or 0)
        assert code in (0, 2), f"{line[0]} ended with {code}: {err.getvalue()[-300:]}"
        assert code == 0 or "distpu: " in err.getvalue(), f"{line[0]} said nothing"
        if code:
            return "refused"
    return "fine"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=0, metavar="N")
    parser.add_argument("--arrays", type=int, default=0, metavar="N")
    parser.add_argument("--commands", type=int, default=0, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    told = parser.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for check, number in ((one_file, told.files), (one_array, told.arrays), (one_command, told.commands)):
            count: Counter[str] = Counter()
            start = time.perf_counter()
            for seed in range(told.first, told.first + number):
                try:
                    count[check(seed, Path(folder))] += 1
                except Exception:
                    count["BAD"] += 1
                    print(f"--- {check.__name__} seed {seed}\n{traceback.format_exc()}", flush=True)
            if number:
                print(f"{check.__name__}: {dict(count)} in {time.perf_counter() - start:.0f} s", flush=True)
            bad += count["BAD"]
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
