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
# Docstrings name other things as Sphinx does; here the name is enough.
_ROLE = re.compile(r":(?:class|func|meth|mod|attr):(?:<code>~?([^<]+)</code>|`~?([^`]+)`)")
# Defaults stand in the signatures. The parser takes the first of several choices for the default.
_DEFAULT = re.compile(r",\s*default:\s*<code>.*?</code>\s*(?=\))", flags=re.DOTALL)


def on_config(config: Any) -> Any:
    """List every decision in the navigation."""
    records = sorted(f"decisions/{path.name}" for path in (DOCS / "decisions").glob("*.md"))
    config.nav = [{"Decisions": records} if "Decisions" in entry else entry for entry in config.nav]
    return config


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Keep the text of links that leave the documentation, and write out the commands."""
    folder = (DOCS / page.file.src_uri).parent
    markdown = _LINK.sub(lambda link: _inside(link, folder), markdown)
    if _COMMANDS in markdown:
        markdown = markdown.replace(_COMMANDS, commands())
    return markdown


def on_page_content(html: str, **_: Any) -> str:
    """Correct what the reader of docstrings gets wrong."""
    return _DEFAULT.sub("", _ROLE.sub(_named, html))


def _named(role: re.Match[str]) -> str:
    return f"<code>{role[1]}</code>" if role[1] else role[2]


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
