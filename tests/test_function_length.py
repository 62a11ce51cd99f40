"""Functions stay short enough to read at once."""

import ast
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "tabsoda"
MOST_LINES = 60
# Functions that were longer when the limit came. Shorten one and take it out; add none.
ALLOWED = {
    # A list of questions.
    "datasets/questionnaire/topics.py:topic_questions": 77,
}


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str]) -> int:
    """Count the lines of a body without its docstring, blank lines and comments."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    if not body:
        return 0
    texts = (line.strip() for line in lines[body[0].lineno - 1 : function.end_lineno])
    return sum(bool(text) and not text.startswith("#") for text in texts)


def long_functions() -> dict[str, int]:
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                count = code_lines(node, text.splitlines())
                if count > MOST_LINES:
                    found[f"{path.relative_to(SOURCE).as_posix()}:{node.name}"] = count
    return found


def test_functions_are_short():
    found = long_functions()
    grown = {name: n for name, n in found.items() if n > ALLOWED.get(name, MOST_LINES)}
    assert not grown, f"split these functions: at most {MOST_LINES} lines of code each"


def test_the_count_leaves_out_docstrings_comments_and_blank_lines():
    text = (
        'def f(a):\n    """Doc.\n\n    More.\n    """\n    # why\n    c = a\n\n'
        "    return (\n        c\n    )\n"
    )
    assert code_lines(ast.parse(text).body[0], text.splitlines()) == 4
