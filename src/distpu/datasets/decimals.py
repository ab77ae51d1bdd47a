"""Finds the decimal sign of a text file: from all of its cells, and from what the file of the training had."""

from __future__ import annotations

import codecs
import re
from typing import IO, Any

STEP = 2**22  # bytes of a step through the file
NUMBER = r"[-+]?\d{1,3}(?:\.\d{3})+(?:,\d+)?|[-+]?\d+,\d+(?:[eE][-+]?\d+)?"  # a cell of a file with decimal commas
_COMMA = r"[-+]?\d+(?:\.\d{3})*,\d+(?:[eE][-+]?\d+)?"
_POINT = r"[-+]?\d*\.\d+(?:[eE][-+]?\d+)?"
_EITHER = re.compile(r"[-+]?[1-9]\d{0,2}[.,]\d{3}")  # three decimals, or thousands


def decimal_of(file: IO[bytes], encoding: str, separator: str, known: str | None = None) -> str:
    """Return the sign that most cells write. `known` is that of the training: it holds unless all cells speak against.

    A cell such as 1.234 does not speak against it, because it may be a number of thousands.
    """
    if separator == ",":
        return "."
    comma, point, sure_comma, sure_point = _counts(file, encoding, separator)
    if known == ",":
        return "." if sure_point and not comma else ","
    if known == ".":
        return "," if sure_comma and not point else "."
    return "," if (sure_comma - sure_point, comma - point) > (0, 0) else "."


def _counts(file: IO[bytes], encoding: str, separator: str) -> list[int]:
    """Count cells with a decimal comma and with a decimal point; then of each those that cannot be thousands."""
    ends = rf'[^{re.escape(separator)}"\r\n]'
    cell = re.compile(rf"(?<!{ends}) *(?:(?P<comma>{_COMMA})|(?P<point>{_POINT})) *(?!{ends})")
    decoder: Any = codecs.getincrementaldecoder(encoding)(errors="replace")
    found, rest, header = [0, 0, 0, 0], "", True
    while True:
        read = file.read(STEP)
        text = rest + decoder.decode(read, final=not read)
        whole, line, rest = text.rpartition("\n") if read else (text, "", "")
        if header and line:
            whole, header = whole.partition("\n")[2], False
        for one in cell.finditer(whole):
            which = int(one["comma"] is None)
            found[which] += 1
            found[which + 2] += not _EITHER.fullmatch(one["point"] if which else one["comma"])
        if not read:
            return found
