"""Runs the application: one process, or several, until Ctrl-C or SIGTERM."""

from __future__ import annotations

import ipaddress
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .schema import Limits

GRACE = 10  # seconds that calls in flight have to end


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_free(host: str, port: int) -> None:
    """Refuse an address that is taken or not of this machine, in one line."""
    try:
        family, kind, number, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, number) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise ValueError(
            f"{host}:{port} cannot be listened on ({error.strerror}); name another --port or --host"
        ) from None


def run(
    folder: Path,
    host: str,
    port: int,
    workers: int,
    id: str | None,
    threshold: str | None,
    limits: Limits,
    ready: Callable[[], None],
) -> None:
    """Serve until the process is told to stop; calls in flight are answered first."""
    import uvicorn

    from .app import SETTINGS, Scorer, create_app

    scorer = Scorer(folder, id, threshold)  # a mistake shows before a process is started
    loopback = is_loopback(host)
    app: Any = create_app(scorer, limits, loopback)
    if workers > 1:
        told = {"folder": str(folder), "id": id, "threshold": threshold, "limits": asdict(limits)}
        os.environ[SETTINGS] = json.dumps({**told, "loopback": loopback})
        app = "distpu.serve.app:from_environment"
    ready()
    # uvicorn ends gracefully and then raises the signal again, which ends this process with code 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with suppress(KeyboardInterrupt):
        uvicorn.run(
            app,
            host=host,
            port=port,
            workers=workers,
            factory=workers > 1,
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=GRACE,
            server_header=False,
        )
