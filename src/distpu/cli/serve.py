"""`distpu serve`: a model behind HTTP on this machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ._options import Threshold


def serve(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A finished run folder.")],
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen; the default is this machine alone.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", min=1, max=65535, help="The port.")] = 8000,
    workers: Annotated[int, typer.Option(metavar="N", min=1, help="Processes, each with a copy of the model.")] = 1,
    id: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The column that names the rows, else the model's own, else 'id'."),
    ] = None,
    threshold: Threshold = None,
    max_rows: Annotated[int, typer.Option(metavar="N", min=1, help="Rows of one call at most.")] = 10_000,
    max_bytes: Annotated[int, typer.Option(metavar="N", min=1000, help="Bytes of one call at most.")] = 10_000_000,
) -> None:
    """Score rows over HTTP: JSON in, scores out.

        distpu serve runs/transactions-auto-seed0

    Send rows as objects of column and value; the page at /docs explains the calls:

        curl -H 'Content-Type: application/json' -d '[{"amount": 12.5}]' http://127.0.0.1:8000/score

    A row is given back with its id: the value of --id COLUMN, of the model's own id column, or of the key "id".

    There is no password: other machines reach the server only with --host 0.0.0.0, which belongs behind a proxy.
    """
    from ..files.run_folder import RunFolder
    from ..params import need
    from ..threshold.choice import read_choice

    RunFolder(folder).check_finished()
    if threshold is not None and read_choice(threshold).kind == "rows":
        raise ValueError(
            f"--threshold {threshold} counts the rows of one file, but a server scores each row by itself; give a "
            "probability such as 0.3, or precision=0.9"
        )
    need("fastapi", "serve", "serving")
    need("uvicorn", "serve", "serving")

    from ..serve.running import check_free, is_loopback, run
    from ..serve.schema import Limits

    check_free(host, port)
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"

    def ready() -> None:
        if not is_loopback(host):
            print(f"distpu: {host} can be reached by other machines, and there is no password", file=sys.stderr)
        print(f"serving {folder} at {address}  (POST /score; {address}/docs explains; Ctrl-C stops)", flush=True)

    run(folder, host, port, workers, id, threshold, Limits(bytes=max_bytes, rows=max_rows), ready)
