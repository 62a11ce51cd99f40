"""What ``mkdocs build`` does beyond turning pages into HTML.

Pages are read in two places: in the repository, where they may link to code, and on the site, which
holds the pages alone.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((\.\./[^)#\s]+)(#[^)]*)?\)")
_COMMANDS = "<!-- commands -->"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Keep the text of links that leave the documentation, and write out the commands."""
    folder = (DOCS / page.file.src_uri).parent
    markdown = _LINK.sub(lambda link: _inside(link, folder), markdown)
    if _COMMANDS in markdown:
        markdown = markdown.replace(_COMMANDS, commands())
    return markdown


def _inside(link: re.Match[str], folder: Path) -> str:
    target = (folder / link[2]).resolve()
    shown = target.is_relative_to(DOCS) and target.suffix == ".md"
    return link[0] if shown else link[1]


def commands() -> str:
    """Return what each command says of itself, in the order of the work."""
    from tabsoda.cli.main import app

    parts = []
    for verb in (name for name in app if not name.startswith("-")):
        # In the list a command has one line; here it has its whole docstring.
        app[verb].help = None
        text = app[verb].generate_docs(include_hidden=False, heading_level=2)
        text = text.replace(" *[default: False]*", "").replace(f"\n{verb} ", f"\ntabsoda {verb} ")
        parts.append(text.strip())
    return "\n\n".join(parts)
