"""A reviewer's own comments in a rules file, kept when the file is written anew.

The file is laid out afresh on every save. Comments have no place in the rules themselves, so each
is put back beside what it stood beside: the block (such as the rule of one id) and the key.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field

_HEAD = re.compile(r"\s*\[\[?\s*[A-Za-z_]+\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"\s*([A-Za-z_]+)\s*=")
_NAMING = re.compile(r"""\s*(?:id|name)\s*=\s*(["'].*?["'])""")
_LONG_QUOTES = re.compile(r'"""|\'\'\'')


@dataclass
class _Block:
    """A table of the file with what precedes it.

    Attributes
    ----------
    head : str
        Its first line; empty for what comes before all tables.
    name : str
        The id of a rule or the name of a column, else empty.
    lines : list of (key, line)
        In order; the key is empty for a line that starts none.
    above : dict of str to list of str
        Whole-line comments by the key they stand above; ``""`` for the head, and for the end.
    beside : dict of str to str
        Comments behind a value, by its key.
    """

    head: str = ""
    name: str = ""
    lines: list[tuple[str, str]] = field(default_factory=list)
    above: dict[str, list[str]] = field(default_factory=dict)
    beside: dict[str, str] = field(default_factory=dict)

    @property
    def identity(self) -> tuple[str, str]:
        return re.sub(r"[\s#].*", "", self.head.strip()), self.name


def keep_comments(old: str, new: str) -> str:
    r"""Return a new rules file with the comments of the old one that it does not hold already.

    One on a line of its own within a value of several lines moves behind the value; one behind
    such a line is lost. Should the comments change what the file says, which they must not, the
    new file is returned without them.

    Parameters
    ----------
    old, new : str
        The text of a rules file before and after.

    Examples
    --------
    >>> old = '[[rule]]\nid = "r1"\n# asked Ann\nstatus = "proposed"  # sure?\n'
    >>> new = '[[rule]]\nid = "r1"\nstatus = "approved"\n'
    >>> print(keep_comments(old, new), end="")
    [[rule]]
    id = "r1"
    # asked Ann
    status = "approved"  # sure?
    """
    known = {line.strip() for line in new.split("\n") if line.lstrip().startswith("#")}
    found = {block.identity: block for block in _blocks(old)}
    lines: list[str] = []
    for block in _blocks(new, drop_comments=False):
        before = found.pop(block.identity, _Block())
        lines += _rebuilt(block, before, known)
    for block in found.values():
        for comments in block.above.values():
            lines += [comment for comment in comments if comment.strip() not in known]
    text = "\n".join(lines) + "\n"
    return text if tomllib.loads(text) == tomllib.loads(new) else new


def _rebuilt(block: _Block, before: _Block, known: set[str]) -> Iterator[str]:
    """Give the lines of a block, with the comments that were there before."""
    above = {
        key: [comment for comment in comments if comment.strip() not in known]
        for key, comments in before.above.items()
    }
    waiting = dict(above)
    for key, line in block.lines:
        if key:
            yield from waiting.pop(key, ())
        beside = before.beside.get(key, "") if key else ""
        yield f"{line}  {beside}" if beside else line
    # Above a key that is no more.
    for comments in waiting.values():
        yield from comments


def _blocks(text: str, *, drop_comments: bool = True) -> list[_Block]:
    """Cut a file into its tables; blank lines and comments before a table belong to it."""
    blocks = [_Block()]
    pending: list[str] = []
    in_long_text = False
    for line in text.removesuffix("\n").split("\n"):
        starts_in_text = in_long_text
        in_long_text ^= len(_LONG_QUOTES.findall(line)) % 2 == 1
        is_comment = not starts_in_text and line.lstrip().startswith("#")
        if is_comment and drop_comments:
            pending.append(line)
            continue
        key = ""
        if not starts_in_text and not is_comment:
            if _HEAD.match(line):
                blocks.append(_Block(line))
                key = "[head]"
            elif (match := _KEY.match(line)) is not None:
                key = match[1]
            naming = _NAMING.match(line)
            if naming and not blocks[-1].name:
                blocks[-1].name = naming[1][1:-1]
        block = blocks[-1]
        if key:
            block.above.setdefault(key, []).extend(pending)
            pending = []
            if comment := _behind(line):
                block.beside[key] = comment
        block.lines.append((key, line))
    blocks[-1].above.setdefault("[end]", []).extend(pending)
    return blocks


def _behind(line: str) -> str:
    """Return the comment behind a value that ends on its line, or nothing."""
    for match in re.finditer("#", line):
        try:
            tomllib.loads(line[: match.start()])
        except tomllib.TOMLDecodeError:
            continue
        return line[match.start() :]
    return ""
