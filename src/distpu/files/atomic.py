"""Files that survive a kill: written whole or not at all, checked when read, never executed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def write(path: Path, content: bytes) -> None:
    """Write through a temporary file, so that a reader sees the old content or the new, never half of it."""
    temporary = path.with_name(path.name + ".tmp")
    with open(temporary, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def write_json(path: Path, value: Any) -> None:
    write(path, (json.dumps(value, indent=1) + "\n").encode())


def read_json(path: Path, *keys: str) -> Any:
    """The value in a JSON file; with keys, an object that has them."""
    remedy = "the folder is damaged, train into a new one"
    try:
        value = json.loads(path.read_text())
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} does not exist; {remedy}") from None
    except ValueError as error:  # not JSON, or not even text
        raise ValueError(f"{path} is not valid JSON ({error}); {remedy}") from None
    lost = [key for key in keys if not isinstance(value, dict) or key not in value]
    if lost:
        raise ValueError(f"{path} has no {lost[0]!r}; {remedy}")
    return value
