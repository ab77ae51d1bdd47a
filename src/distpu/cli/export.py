"""`distpu export`: a model as an ONNX file, for programs without Python."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ._early import check_file
from ._print import fill


def export(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A finished run folder.")],
    onnx: Annotated[Path, typer.Option("--onnx", metavar="FILE", help="The .onnx file to write.")],
    data: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Rows on which both are compared; else rows are drawn from what is known."),
    ] = None,
) -> None:
    """Write a model as an ONNX file, compared with the original.

        distpu export runs/transactions-auto-seed0 --onnx fraud.onnx

    The input x holds rows of numbers, as the model's encoder makes them; the outputs are score (positive from 0 on)
    and probability. The encoder is not in the graph: its files are written beside. onnxruntime runs the graph beside
    the original, and the largest difference is printed. A file that differs is not written. blend-pu (the default for
    tables), dist-pu-boost and the methods that train a network have a graph; methods around a scikit-learn classifier
    have none. With rows of your own:

        distpu export runs/transactions-auto-seed0 --onnx fraud.onnx --data new.csv
    """
    from ..files.run_folder import RunFolder
    from ..params import need

    RunFolder(folder).check_finished()
    if data is not None:
        check_file(data)
    if onnx.suffix != ".onnx":
        raise ValueError(f"--onnx {onnx} must end in .onnx")
    need("onnx", "onnx", "exporting")

    from ..export import to_onnx

    made = to_onnx(folder, onnx, data=data)
    size = onnx.stat().st_size / 1e6
    print(f"{made.path}: {size:.1f} MB; input x of shape (rows, {', '.join(map(str, made.shape))})")
    how = "drawn rows" if data is None else f"rows of {data}"
    fill(
        f"compared with the model on {made.rows} {how} by onnxruntime: scores differ by at most "
        f"{made.score_difference:.1e}, probabilities by at most {made.probability_difference:.1e}"
    )
    if made.columns is not None:
        shown = ", ".join(made.columns[:8]) + (f", ... ({len(made.columns)} in all)" if len(made.columns) > 8 else "")
        fill(f"columns of x, in this order (the file's metadata lists them): {shown}")
    if made.beside:
        names = " and ".join(path.name for path in made.beside)
        fill(f"the encoder, which makes x from a raw table, is beside: {names}")
