"""Measures `distpu serve` on this machine: calls a second and how long a call takes.

    python tools/bench_serve.py [--folder RUN] [--seconds 10] [--calls 2000] [--threads 4] [--workers 1]

A server process is started on a free port of 127.0.0.1 and stopped at the end. Each round ends after so many seconds or
calls, whichever comes first. No other address is ever called. Without --folder a BlendPU of 20 columns is fitted.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd

import distpu

HOST, COLUMNS = "127.0.0.1", 20


def fitted(folder: Path) -> Path:
    random = np.random.default_rng(0)
    y = random.random(5000) < 0.2
    X = pd.DataFrame(random.normal(size=(5000, COLUMNS)) + 0.5 * y[:, None], columns=[f"x{i}" for i in range(COLUMNS)])
    distpu.BlendPU(random_state=0).fit(X, y & (random.random(5000) < 0.5), folder=folder)
    return folder


def body(folder: Path, rows: int) -> bytes:
    from distpu.serve.app import Scorer
    from distpu.serve.page import example

    row = example(Scorer(folder).schema)
    return json.dumps([row] * rows).encode()


def one_round(port: int, content: bytes, seconds: float, calls: int, threads: int) -> list[float]:
    """Return how long each call took. All threads together make at most `calls` calls."""
    took: list[float] = []
    end, left, lock = time.monotonic() + seconds, [calls], threading.Lock()

    def work() -> None:
        link = http.client.HTTPConnection(HOST, port, timeout=60)
        while time.monotonic() < end:
            with lock:
                if not left[0]:
                    return
                left[0] -= 1
            start = time.perf_counter()
            link.request("POST", "/score", content, {"Content-Type": "application/json"})
            answer = link.getresponse()
            answer.read()
            assert answer.status == 200, answer.status
            with lock:
                took.append(time.perf_counter() - start)
        link.close()

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    return took


def cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of a process so far (Linux; of one worker)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    told = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    told.add_argument("--folder", type=Path)
    told.add_argument("--seconds", type=float, default=10)
    told.add_argument("--calls", type=int, default=2000)
    told.add_argument("--threads", type=int, default=4)
    told.add_argument("--workers", type=int, default=1)
    options = told.parse_args()
    with tempfile.TemporaryDirectory() as place, socket.socket() as probe:
        folder = options.folder or fitted(Path(place) / "run")
        probe.bind((HOST, 0))
        port = probe.getsockname()[1]
        probe.close()
        command = [sys.executable, "-m", "distpu", "serve", str(folder), "--port", str(port)]
        server = subprocess.Popen([*command, "--workers", str(options.workers)], stdout=subprocess.DEVNULL)
        try:
            for _ in range(600):
                with socket.socket() as probe:
                    if not probe.connect_ex((HOST, port)):
                        break
                time.sleep(0.1)
            print(
                "| rows a call | calls | calls a second | rows a second | median, ms | 99 % below, ms | CPU ms a call |"
            )
            print("|---|---|---|---|---|---|---|")
            for rows in (1, 100, 1000):
                content = body(folder, rows)
                start, before = time.perf_counter(), cpu_seconds(server.pid)
                took = one_round(port, content, options.seconds, options.calls, options.threads)
                rate = len(took) / (time.perf_counter() - start)
                middle, late = (1000 * float(q) for q in np.quantile(took, [0.5, 0.99]))
                cpu = 1000 * (cpu_seconds(server.pid) - before) / len(took)
                numbers = f"{rate:,.1f} | {rate * rows:,.0f} | {middle:.0f} | {late:.0f} | {cpu:.0f}"
                print(f"| {rows:,} | {len(took):,} | {numbers} |", flush=True)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(30)


if __name__ == "__main__":
    main()
