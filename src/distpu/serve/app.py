"""The web application: POST /score, and what a client or a supervisor asks about it."""

from __future__ import annotations

import json
import os
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

from .. import __version__
from ..params import need
from ..predictions.rows import model_identity
from ..saved import load
from .page import page
from .schema import Limits, Refused, Schema

SETTINGS = "DISTPU_SERVE"  # JSON in the environment, for the processes of --workers
DROPPED = 2**26  # bytes beyond the limit that are read and dropped, because a client that still sends reads no answer
LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")


def finite(score: float) -> float:
    """Return a score that JSON can hold: an infinite one becomes the largest number."""
    return max(-sys.float_info.max, min(sys.float_info.max, score))


class Scorer:
    """One model, whose rows are scored by one thread at a time: scoring uses all that a core has, and shares state."""

    def __init__(self, folder: str | Path, id: str | None = None, threshold: str | None = None):
        self.folder = Path(folder)
        self.model = load(folder)
        if threshold is not None:
            self.model.set_threshold(threshold)
        self.schema = Schema(self.model, id)
        self.identity = model_identity(self.folder)[:16]
        self._turn = threading.Lock()

    def score(self, body: Any, limits: Limits) -> dict[str, Any]:
        X, ids = self.schema.read(body, limits)
        try:
            with self._turn, warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                decision, p = self.model.judged(X)
        except ValueError as error:
            raise Refused(" ".join(str(error).split())) from None
        rows = zip(ids, decision.tolist(), p.tolist(), strict=True)
        scored = [{"id": i, "score": finite(z), "probability": q, "decision": int(z >= 0)} for i, z, q in rows]
        said = list(dict.fromkeys(" ".join(str(one.message).split()) for one in caught))
        return {"rows": scored, "warnings": said, "model": self.identity}

    def facts(self) -> dict[str, Any]:
        return {
            "distpu": __version__,
            "method": self.model.name,
            "model": self.identity,
            "positive": self.model.classes_.tolist()[1],
            "threshold": str(self.model.threshold),
        }


def create_app(scorer: Scorer, limits: Limits | None = None, loopback: bool = True) -> Any:
    """Return the application of a model."""
    fastapi = need("fastapi", "serve", "serving")
    from starlette.concurrency import run_in_threadpool
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import HTMLResponse, JSONResponse

    bounds = limits or Limits()
    app = fastapi.FastAPI(title="distpu", version=__version__, docs_url=None, redoc_url=None)
    if loopback:  # a web page of another site must not reach a local server under a name of its own
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=[*LOOPBACK, "testserver"])

    def refused(status: int, message: str, problems: Any = ()) -> Any:
        return JSONResponse({"message": message, "problems": list(problems)}, status)

    async def score(request: Request) -> Any:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            return refused(415, "send JSON, with the header Content-Type: application/json")
        large = f"the body is larger than {bounds.bytes} bytes; send fewer rows at a time"
        length = request.headers.get("content-length", "")
        told = int(length) if length.isdecimal() else 0
        asks = "expect" in request.headers  # such a client waits for an answer before it sends the body
        if told > bounds.bytes + (0 if asks else DROPPED):
            return refused(413, large)
        content, size = bytearray(), 0
        try:
            async for part in request.stream():
                size += len(part)
                if size > bounds.bytes + DROPPED:
                    break
                content += part if size <= bounds.bytes else b""
            if size > bounds.bytes:
                return refused(413, large)
        except ClientDisconnect:  # nobody reads the answer
            return refused(400, "the body ended early; send it whole")
        try:
            body = _parsed(bytes(content))
            return JSONResponse(await run_in_threadpool(scorer.score, body, bounds))
        except Refused as error:
            return refused(error.status, str(error), error.problems)

    async def health() -> Any:
        return {"status": "ok"}

    async def version() -> Any:
        return scorer.facts()

    async def schema() -> Any:
        return scorer.schema.as_json()

    async def docs() -> Any:
        policy = "default-src 'none'; style-src 'unsafe-inline'"
        return HTMLResponse(page(scorer.facts(), scorer.schema, bounds), headers={"Content-Security-Policy": policy})

    body = {"required": True, "content": {"application/json": {"schema": scorer.schema.as_json_schema()}}}
    score.__annotations__["request"] = Request  # FastAPI reads it, and it is a name inside this function
    app.post("/score", summary="Score rows", openapi_extra={"requestBody": body})(score)
    app.get("/health", summary="Whether the server runs")(health)
    app.get("/version", summary="The model and its version")(version)
    app.get("/schema", summary="The columns that the model takes")(schema)
    app.get("/", include_in_schema=False, response_class=HTMLResponse)(docs)  # a browser opens the printed address
    app.get("/docs", summary="This server's page", include_in_schema=False, response_class=HTMLResponse)(docs)
    return app


def _parsed(content: bytes) -> Any:
    def refuse(name: str) -> Any:
        raise ValueError(f"{name} is no JSON; send null for a blank")

    try:
        return json.loads(content, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise Refused(f"the body is no JSON ({' '.join(str(error).split())[:200]})") from None


def from_environment() -> Any:
    """Return the application for a process that --workers started."""
    told = json.loads(os.environ[SETTINGS])
    scorer = Scorer(told["folder"], told["id"], told["threshold"])
    return create_app(scorer, Limits(**told["limits"]), told["loopback"])
