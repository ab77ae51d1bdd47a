"""The pages of the repository as tests read them: their text, their code, their tables."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
AT_THE_TOP = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
PAGES = sorted([ROOT / name for name in AT_THE_TOP if (ROOT / name).exists()] + [*DOCS.rglob("*.md")])


def text_of(page):
    return (ROOT / page).read_text()


def blocks(page, language="python"):
    return re.findall(rf"```{language}\n(.*?)```", text_of(page), re.DOTALL)


def table(page, *head, under=""):
    """The table whose header begins with these cells, of a page or of one section: first column -> other cells."""
    found, text = [], text_of(page)
    if under:
        text = text.split(f"\n{under}\n")[1].split("\n#")[0]
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        first, _, *rows = ([cell.strip() for cell in line.strip("|\n").split("|")] for line in block.splitlines())
        if first[: len(head)] == [*head]:
            found.append({row[0]: row[1:] for row in rows})
    assert len(found) == 1, (page, head)
    return found[0]
