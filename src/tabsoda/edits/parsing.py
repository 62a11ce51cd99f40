"""Reads the text of an edit or a formula as a tree; nothing in it is ever executed."""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass
from difflib import get_close_matches

from tabsoda.errors import InputError

LONGEST, _MOST_NODES, _DEEPEST = 2_000, 600, 40
LARGEST_EXPONENT = 10
FUNCTIONS = ("abs", "count", "max", "mean", "min", "round", "sum")
# A quoted text, which stays as it is, or a name in backticks.
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`([^`]+)`")
_SINGLE_EQUALS = re.compile(r"(?<![=!<>])=(?!=)")
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
_SIGNS = (ast.Not, ast.USub, ast.UAdd)
_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn)
_FORM = (
    "names of columns, numbers, texts, + - * / // % **, comparisons, and, or, not, in (...) and"
    f" the functions {', '.join(FUNCTIONS)}"
)


@dataclass(frozen=True)
class Source:
    """A text and where it was read, for messages.

    Attributes
    ----------
    what : str
        Such as ``"The edit"``.
    text : str
    place : str
        Such as ``"'survey.toml', line 12"``; empty if unknown.
    """

    what: str
    text: str
    place: str = ""

    def error(
        self,
        problem: str,
        *,
        found: str | None = None,
        expected: str | None = None,
        next_step: str | None = None,
    ) -> InputError:
        """Return an error about this text, which is named with its place."""
        shown = self.text if len(self.text) <= 120 else f"{self.text[:120]} ..."
        where = f"{shown!r} in {self.place}" if self.place else repr(shown)
        return InputError(
            f"{self.what} {where} {problem}", found=found, expected=expected, next_step=next_step
        )

    def part(self, node: ast.AST, names: dict[str, str]) -> str:
        """Return the part of the text that a node stands for."""
        written = ast.unparse(node)
        for stand_in, name in names.items():
            written = written.replace(stand_in, f"`{name}`")
        return repr(written[:80])


@dataclass(frozen=True, eq=False)
class ParsedText:
    """The tree of an edit or a formula.

    Attributes
    ----------
    source : Source
    tree : ast.expr
        With only the kinds of nodes that are allowed.
    stand_ins : dict of str to str
        The column of each identifier that stands for a name in backticks.
    names : tuple of str
        The columns it mentions, in order of appearance.
    """

    source: Source
    tree: ast.expr
    stand_ins: dict[str, str]
    names: tuple[str, ...]

    def column_of(self, node: ast.expr) -> str | None:
        """Return the column that a node names; None for other nodes."""
        if isinstance(node, ast.Name):
            return self.stand_ins.get(node.id, node.id)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Q":
            return str(node.args[0].value)  # type: ignore[attr-defined]
        return None


def parse(source: Source) -> ParsedText:
    """Read a text; raise an error that names the part that is not allowed.

    Examples
    --------
    >>> parse(Source("The edit", "AGEFIRST <= AGE and `a name` > 0")).names
    ('AGEFIRST', 'AGE', 'a name')
    >>> parse(Source("The edit", "__import__('os').remove('x')"))
    Traceback (most recent call last):
    ...
    tabsoda.errors.InputError: The edit "__import__('os').remove('x')" contains something that is \
not allowed. Found: "__import__('os').remove('x')". Expected: names of columns, numbers, texts, \
+ - * / // % **, comparisons, and, or, not, in (...) and the functions abs, count, max, mean, min, \
round, sum.
    """
    stand_ins: dict[str, str] = {}

    def identifier(found: re.Match[str]) -> str:
        if found.group(1) is None:
            return found.group(0)
        stand_ins[f"column_in_backticks_{len(stand_ins)}_"] = found.group(1)
        return f" {list(stand_ins)[-1]} "

    if len(source.text) > LONGEST:
        raise source.error("is too long", found=f"{len(source.text):,} characters")
    text = _QUOTED.sub(identifier, source.text).strip()
    try:
        tree = ast.parse(text, mode="eval").body
        nodes = list(ast.walk(tree))
        too_deep = _depth(tree) > _DEEPEST
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        step = "Write == for equals" if _SINGLE_EQUALS.search(text) else None
        if isinstance(error, SyntaxError) and step is None and error.offset and len(text) < 200:
            step = f"The problem is near {text[max(error.offset - 12, 0) : error.offset + 8]!r}"
        raise source.error("cannot be read", expected=_FORM, next_step=step) from error
    if len(nodes) > _MOST_NODES or too_deep:
        raise source.error("is too complicated", next_step="Split it into several")
    parsed = ParsedText(source, tree, stand_ins, ())
    names = _checked(tree, parsed)
    return ParsedText(source, tree, stand_ins, tuple(dict.fromkeys(names)))


def _depth(node: ast.AST) -> int:
    return 1 + max((_depth(child) for child in ast.iter_child_nodes(node)), default=0)


def _checked(node: ast.expr, parsed: ParsedText) -> list[str]:
    """Return the columns in a tree; raise if it contains a node that is not allowed."""
    source = parsed.source
    if isinstance(node, ast.Call):
        _check_call(node, parsed)
    name = parsed.column_of(node)
    if name is not None:
        return [name]
    children: list[ast.expr] = []
    if isinstance(node, ast.BoolOp):
        children = node.values
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, _SIGNS):
        children = [node.operand]
    elif isinstance(node, ast.BinOp) and isinstance(node.op, _OPERATORS):
        if isinstance(node.op, ast.Pow):
            _check_exponent(node.right, parsed)
        children = [node.left, node.right]
    elif isinstance(node, ast.Compare) and all(isinstance(op, _COMPARISONS) for op in node.ops):
        _check_lists(node, parsed)
        children = [node.left, *node.comparators]
    elif isinstance(node, ast.Tuple | ast.List):
        children = node.elts
    elif isinstance(node, ast.Call):
        children = node.args
    elif not (isinstance(node, ast.Constant) and _is_plain(node.value)):
        step = None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr):
            step = "Write and, or instead of &, |"
        raise source.error(
            "contains something that is not allowed",
            found=source.part(node, parsed.stand_ins),
            expected=_FORM,
            next_step=step,
        )
    return [name for child in children for name in _checked(child, parsed)]


def _check_lists(node: ast.Compare, parsed: ParsedText) -> None:
    """Raise unless lists stand only after in, and something stands in them."""
    for op, right in zip(node.ops, node.comparators, strict=True):
        is_list = isinstance(right, ast.Tuple | ast.List)
        wanted = isinstance(op, ast.In | ast.NotIn)
        if is_list != wanted or (is_list and not right.elts):  # type: ignore[attr-defined]
            raise parsed.source.error(
                "contains something that is not allowed",
                found=parsed.source.part(right, parsed.stand_ins),
                expected="a list such as (1, 2) after in, and only there",
            )


def _check_call(node: ast.Call, parsed: ParsedText) -> None:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    plain = not node.keywords and not any(isinstance(one, ast.Starred) for one in node.args)
    texts = [isinstance(one, ast.Constant) and isinstance(one.value, str) for one in node.args]
    if name == "Q" and plain and texts == [True]:
        return
    if name in FUNCTIONS and plain and node.args and name != "Q":
        most = {"abs": 1, "round": 2}.get(name, len(node.args))
        if len(node.args) <= most:
            return
    near = get_close_matches(name.lower(), FUNCTIONS, n=1)
    raise parsed.source.error(
        "contains something that is not allowed",
        found=parsed.source.part(node, parsed.stand_ins),
        expected=_FORM,
        next_step=f"Did you mean {near[0]}?" if near and near[0] != name else None,
    )


def _check_exponent(node: ast.expr, parsed: ParsedText) -> None:
    """Raise unless an exponent is a small constant, so that no power takes long or overflows."""
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    is_small = (
        isinstance(inner, ast.Constant)
        and _is_plain(inner.value)
        and not isinstance(inner.value, str)
        and abs(inner.value) <= LARGEST_EXPONENT  # type: ignore[arg-type]
    )
    if not is_small:
        raise parsed.source.error(
            "has an exponent that is not allowed",
            found=parsed.source.part(node, parsed.stand_ins),
            expected=f"a number between {-LARGEST_EXPONENT} and {LARGEST_EXPONENT}",
        )


def _is_plain(value: object) -> bool:
    """Return whether a constant is a text or a finite number; Python's booleans are neither."""
    if isinstance(value, str):
        return True
    try:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and math.isfinite(float(value))  # type: ignore[arg-type]
    except OverflowError:
        return False
