"""A table of text cells, and its output as Markdown, LaTeX and HTML."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "_": r"\_",
    "#": r"\#",
    "$": r"\$",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "–": "--",
}


@dataclass(frozen=True)
class Entry:
    """A cell of a table; the best of its column is set in bold."""

    text: str
    bold: bool = False


@dataclass(frozen=True)
class Table:
    """A table with its title and a note.

    Attributes
    ----------
    title, note : str
    header : tuple of str
    rows : tuple of tuple of Entry
    left : int
        Number of left-aligned columns, from the first; the others are right-aligned.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    note: str = ""
    left: int = 2


def to_markdown(table: Table) -> str:
    r"""Write a table as GitHub Markdown.

    Examples
    --------
    >>> table = Table("T", ("method", "score"), ((Entry("a|b"), Entry("0.5", bold=True)),), left=1)
    >>> print(to_markdown(table))
    **T**
    <BLANKLINE>
    | method | score |
    | :--- | ---: |
    | a\|b | **0.5** |
    <BLANKLINE>
    """
    rules = [":---" if i < table.left else "---:" for i in range(len(table.header))]
    rows = [[_markdown(entry) for entry in row] for row in table.rows]
    lines = [f"| {' | '.join(row)} |" for row in [list(table.header), rules, *rows]]
    note = ["", table.note] if table.note else []
    return "\n".join([f"**{table.title}**", "", *lines, *note, ""])


def to_latex(table: Table) -> str:
    """Write a table as a LaTeX float that needs the package booktabs."""
    alignment = "l" * table.left + "r" * (len(table.header) - table.left)
    rows = [" & ".join(_latex_entry(entry) for entry in row) + r" \\" for row in table.rows]
    caption = f"{table.title}. {table.note}" if table.note else table.title
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{_latex(caption)}}}",
            rf"\begin{{tabular}}{{{alignment}}}",
            r"\toprule",
            " & ".join(map(_latex, table.header)) + r" \\",
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def to_html(table: Table) -> str:
    """Write a table as an HTML fragment."""

    def cell(text: str, index: int, tag: str) -> str:
        side = "left" if index < table.left else "right"
        return f'<{tag} style="text-align:{side}">{text}</{tag}>'

    head = "".join(cell(html.escape(text), i, "th") for i, text in enumerate(table.header))
    body = [
        "<tr>" + "".join(cell(_html_entry(e), i, "td") for i, e in enumerate(row)) + "</tr>"
        for row in table.rows
    ]
    note = [f"<p>{html.escape(table.note)}</p>"] if table.note else []
    return "\n".join(
        [
            "<table>",
            f"<caption>{html.escape(table.title)}</caption>",
            f"<thead><tr>{head}</tr></thead>",
            "<tbody>",
            *body,
            "</tbody>",
            "</table>",
            *note,
            "",
        ]
    )


FORMATS: Mapping[str, Callable[[Table], str]] = {
    "md": to_markdown,
    "tex": to_latex,
    "html": to_html,
}


def write_all(tables: Sequence[Table], form: str) -> str:
    """Write tables into one document: ``"md"``, ``"tex"`` or ``"html"``."""
    body = "\n".join(FORMATS[form](table) for table in tables)
    if form != "html":
        return body
    style = "table{border-collapse:collapse;margin:1em 0}td,th{padding:.2em .7em}"
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>Results</title>\n'
        f"<style>body{{font-family:sans-serif}}{style}</style>\n{body}</html>\n"
    )


def _markdown(entry: Entry) -> str:
    text = entry.text.replace("|", "\\|")
    return f"**{text}**" if entry.bold else text


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)


def _latex_entry(entry: Entry) -> str:
    text = _latex(entry.text)
    return rf"\textbf{{{text}}}" if entry.bold else text


def _html_entry(entry: Entry) -> str:
    text = html.escape(entry.text)
    return f"<b>{text}</b>" if entry.bold else text
