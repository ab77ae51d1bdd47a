"""A mkdocs hook: pages of the repository that are not under docs/ (results, CONTRIBUTING, CHANGELOG) join the site.

A link on any page is relative to the file, as in the repository. The hook turns it into one within the site. A link to
a file that is no page (a TOML file, a source) becomes the file's path in code. A mean and its deviation stay on one
line.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
PATTERNS = ("results/**/*.md", "results/**/*.png", "CONTRIBUTING.md", "CHANGELOG.md")
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]*)(#[^)\s]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    for pattern in PATTERNS:
        for path in sorted(ROOT.glob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            if path.name != "notes.md":  # a part of the README.md beside it
                files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, files: Files, **_: Any) -> str:
    here = page.file.src_uri
    in_repository = here if page.file.generated_by else f"docs/{here}"

    def within_site(match: re.Match[str]) -> str:
        picture, text, target, anchor = match[1], match[2], match[3], match[4] or ""
        if not target or re.match(r"[a-z]+:", target):
            return match[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(in_repository), target))
        name = "index.md" if path == "README.md" else path.removeprefix("docs/")
        if files.get_file_from_path(name) is None:
            return text if text.strip("`") == path else f"{text} (`{path}`)"
        return f"{picture}[{text}]({posixpath.relpath(name, posixpath.dirname(here) or '.')}{anchor})"

    parts = re.split(r"(```.*?```)", markdown, flags=re.DOTALL)
    return "".join(part if part.startswith("```") else _prose(part, within_site) for part in parts)


def _prose(text: str, within_site: Callable[[re.Match[str]], str]) -> str:
    return LINK.sub(within_site, text).replace(" ± ", "&nbsp;±&nbsp;")
