"""Parse conditions as codebooks write them: ``Q5 = 1 or 2``, ``Asked if SMOKE in (1, 2)``.

Only texts that are conditions as a whole are understood. A text with any other word in it is
rejected, because what the word adds is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from tabsoda.questionnaire.expressions import (
    Expression,
    ExpressionError,
    Literal,
    Operation,
    Reference,
    negated,
)

# Longer texts are not conditions; on very long ones the patterns below would be slow.
LONGEST = 1_000
_MOST_NESTED = 20
_TOKEN = re.compile(
    r"""\s*(?:
      (?P<text>'[^']*'|"[^"]*"|[‘’][^‘’]*[‘’]|[“”][^“”]*[“”])
    | (?P<sign><=|>=|=<|=>|<>|!=|==|=|<|>|≤|≥|≠)
    | (?P<number>\d+(?:\.\d+)?(?![\w]))
    | (?P<range>\.\.|[-–—])
    | (?P<name>[^\W\d]\w*(?:\.\w+)*|\d\w*)
    | (?P<mark>[(),/&|]+)
    )""",
    re.VERBOSE,
)
_SIGNS = {
    "==": "=", "eq": "=", "is": "=", "equals": "=", "<>": "!=", "≠": "!=", "ne": "!=",
    "=<": "<=", "≤": "<=", "le": "<=", "=>": ">=", "≥": ">=", "ge": ">=", "lt": "<", "gt": ">",
}  # fmt: skip
_JOINS = {"and": "and", "&": "and", "&&": "and", "or": "or", "|": "or", "||": "or"}
_RANGES = ("to", "thru", "through")
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
# Words before a condition that do not change who is meant.
_BEFORE = re.compile(
    r"""^\s*(?:
      (?:universe|filter|base|routing|condition)\s*[:=]
    | (?:(?:to\ be\ )?asked?|only|if|when|where|for|of|to|with|whose|who|answered|have|all
        |respondents?|persons?|people|those|cases|households?)\b\s*:?
    | \[ | : )\s*""",
    re.VERBOSE | re.IGNORECASE,
)
_AFTER = re.compile(r"[\s.;:\]]+$|,?\s*\b(?:then )?ask(?: (?:this question|\w+))?\s*[.:]*$", re.I)
_EVERYBODY = re.compile(
    r"(?:all|everyone|everybody|total|none|asked of)*[\s,.]*"
    r"(?:respondents?|persons?|people|cases|households?|interviewed|population|records?)*[\s.]*",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Known:
    """The questions that a condition may name.

    Attributes
    ----------
    names : mapping of str to str
        Question by its name in lower case.
    labels : mapping of str to mapping of str to str
        By question, the code of every label in lower case; None if two codes share it.
    codes : mapping of str to frozenset of str
        By question, all its codes; empty or absent if any value is possible.
    """

    names: Mapping[str, str]
    labels: Mapping[str, Mapping[str, str | None]]
    codes: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def name(self, text: str) -> str | None:
        """Return the question of a name, whatever its case."""
        return self.names.get(text.lower())


def is_everybody(text: str) -> bool:
    """Return whether a text says that everybody was asked.

    Examples
    --------
    >>> [is_everybody(text) for text in ("All respondents.", "Women", "")]
    [True, False, True]
    """
    return len(text) <= LONGEST and _EVERYBODY.fullmatch(text.strip()) is not None


def parse_condition(text: str, known: Known, own: str | None = None) -> Expression:
    """Parse the condition of a codebook.

    Parameters
    ----------
    text : str
    known : Known
    own : str, optional
        The question whose answers a text without a name means, as in "2 or 3".

    Raises
    ------
    ExpressionError
        If the text is not wholly a condition on answers to questions of the codebook.

    Examples
    --------
    >>> known = Known({"smoke": "SMOKE"}, {"SMOKE": {"yes": "1"}})
    >>> parse_condition("Asked if SMOKE = 1 (Yes)", known)
    Operation(operator='=', left=Reference(name='SMOKE'), right=Literal(value=1.0))
    """
    if len(text) > LONGEST:
        raise ExpressionError(f"it has more than {LONGEST:,} characters")
    while (shorter := _AFTER.sub("", _BEFORE.sub("", text, count=1), count=1)) != text:
        text = shorter
    parser = _Parser(text, _tokens(text), known, own)
    parsed = parser.joined("or", 0)
    parser.end()
    return parsed


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int


def _tokens(text: str) -> list[_Token]:
    found, place = [], 0
    text = text.rstrip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise ExpressionError(f"'{text[place : place + 12].strip()}' is not understood")
        kind = match.lastgroup or ""
        word, start = match.group(kind), match.start(kind)
        if kind == "mark" and word not in _JOINS:
            # Parentheses and commas stand for themselves, also next to each other.
            word = word[0]
        elif kind == "name" and word.lower() in _SIGNS:
            kind = "sign"
        place = start + len(word)
        found.append(_Token(kind, word, start, place))
    return found


class _Parser:
    """A recursive-descent parser over tokens."""

    def __init__(self, text: str, tokens: list[_Token], known: Known, own: str | None) -> None:
        self._text, self._tokens, self._known, self._own = text, tokens, known, own
        self._place = 0

    def joined(self, word: str, depth: int) -> Expression:
        """Parse conditions joined by "or", or by "and", which binds more tightly."""
        if depth > _MOST_NESTED:
            raise ExpressionError("it is nested too deeply")

        def part() -> Expression:
            return self.joined("and", depth) if word == "or" else self._factor(depth)

        found = part()
        while self._join() == word:
            self._place += 1
            found = Operation(word, found, part())
        return found

    def end(self) -> None:
        """Raise unless all tokens are used."""
        if self._place < len(self._tokens):
            rest = self._text[self._tokens[self._place].start :]
            raise ExpressionError(f"'{rest[:30]}' is not understood")

    def _factor(self, depth: int) -> Expression:
        if self._is_word("not"):
            self._place += 1
            return negated(self._factor(depth + 1))
        if self._accept("("):
            inner = self.joined("or", depth + 1)
            self._require(")")
            return inner
        return self._clause()

    def _clause(self) -> Expression:
        token = self._next("its end")
        name = self._known.name(token.text) if token.kind == "name" else None
        if name is None and self._own is not None:
            return self._listed(self._own, "=")
        if name is None and token.kind == "number":
            # 18 <= AGE < 65
            value = self._value(None)
            sign = _MIRRORED[self._sign()]
            name = self._name()
            first = Operation(sign, Reference(name), value)
            if self._place < len(self._tokens) and self._tokens[self._place].kind == "sign":
                return Operation("and", first, self._listed(name, self._sign()))
            return first
        name = self._name()
        outside = self._is_word("not")
        self._place += outside
        if self._is_word("in"):
            self._place += 1
            self._require("(")
            found = self._listed(name, "=")
            self._require(")")
            return negated(found) if outside else found
        if self._is_word("between"):
            self._place += 1
            low = self._value(name)
            if self._join() != "and":
                raise ExpressionError("'between' needs two numbers joined by 'and'")
            self._place += 1
            found = _span(name, low, self._value(name))
            return negated(found) if outside else found
        if outside:
            raise ExpressionError("'not' is not expected there")
        sign = self._sign()
        if self._is_word("not"):
            if sign != "=":
                raise ExpressionError("'not' is not expected there")
            self._place += 1
            sign = "!="
        return self._listed(name, sign)

    def _listed(self, name: str, sign: str) -> Expression:
        """Parse values after a sign: 1, 2 or 3-5. None of them, if it is "not equal"."""
        if sign not in ("=", "!="):
            return Operation(sign, Reference(name), self._value(name))
        found = self._option(name)
        while self._another():
            self._place += 1
            if self._join() == "or":
                self._place += 1
            found = Operation("or", found, self._option(name))
        return negated(found) if sign == "!=" else found

    def _another(self) -> bool:
        """Return whether a comma or "or" is followed by a value of the same question."""
        if self._place >= len(self._tokens):
            return False
        token = self._tokens[self._place]
        if token.text not in (",", "/") and self._join() != "or":
            return False
        after = self._place + 1
        if after < len(self._tokens) and self._tokens[after].text.lower() == "or":
            after += 1
        following = self._tokens[after] if after < len(self._tokens) else None
        if following is None or following.kind not in ("number", "text", "name", "range"):
            return False
        beyond = self._tokens[after + 1] if after + 1 < len(self._tokens) else None
        return (
            self._known.name(following.text) is None
            and following.text.lower() not in ("not",)
            and (beyond is None or beyond.kind != "sign")
        )

    def _option(self, name: str) -> Expression:
        value = self._value(name)
        token = self._tokens[self._place] if self._place < len(self._tokens) else None
        is_range = token is not None and (token.kind == "range" or token.text.lower() in _RANGES)
        if is_range:
            self._place += 1
            return _span(name, value, self._value(name))
        codes = {_spelled(code) for code in self._known.codes.get(name, ())}
        if codes and _spelled(value.value) not in codes:
            shown = f"{value.value:g}" if isinstance(value.value, float) else value.value
            raise ExpressionError(f"'{shown}' is not an answer to {name}")
        self._explained(name, value)
        return Operation("=", Reference(name), value)

    def _explained(self, name: str, value: Literal) -> None:
        """Pass over the label of a value in parentheses: 1 (Yes)."""
        if not (self._place < len(self._tokens) and self._tokens[self._place].text == "("):
            return
        start = self._tokens[self._place].end
        stop = self._text.find(")", start)
        label = self._text[start:stop].strip().strip("'\"").lower()
        code = self._known.labels.get(name, {}).get(label)
        if stop < 0 or code is None or _spelled(code) != _spelled(value.value):
            raise ExpressionError(f"'({self._text[start:stop]})' is not the label of the answer")
        after = [token.start for token in self._tokens[self._place :] if token.start >= stop]
        if not after or after[0] != stop:
            raise ExpressionError(f"'({self._text[start : stop + 1]}' is not understood")
        self._place = len(self._tokens) - len(after) + 1

    def _value(self, name: str | None) -> Literal:
        token = self._next("its end")
        self._place += 1
        if token.kind == "range" and token.text == "-":
            number = self._next("its end")
            self._place += 1
            if number.kind != "number":
                raise ExpressionError(f"'{number.text}' is not a number")
            return Literal(-float(number.text))
        if token.kind == "number":
            return Literal(float(token.text))
        label = token.text[1:-1] if token.kind == "text" else token.text
        code = self._known.labels.get(name or "", {}).get(label.lower())
        if token.kind == "text" and code is None and name is not None:
            return Literal(label)
        if code is None:
            raise ExpressionError(f"'{token.text}' is neither a code nor a label of {name}")
        return Literal(_spelled(code))

    def _name(self) -> str:
        token = self._next("its end")
        name = self._known.name(token.text) if token.kind == "name" else None
        if name is None:
            raise ExpressionError(f"'{token.text}' is not a question of the codebook")
        self._place += 1
        return name

    def _sign(self) -> str:
        token = self._next("a comparison")
        if token.kind != "sign":
            raise ExpressionError(f"'{token.text}' is not a comparison")
        self._place += 1
        return _SIGNS.get(token.text.lower(), token.text)

    def _next(self, wanted: str) -> _Token:
        if self._place >= len(self._tokens):
            raise ExpressionError(f"it ends before {wanted}")
        return self._tokens[self._place]

    def _join(self) -> str | None:
        if self._place >= len(self._tokens):
            return None
        return _JOINS.get(self._tokens[self._place].text.lower())

    def _is_word(self, word: str) -> bool:
        return self._place < len(self._tokens) and self._tokens[self._place].text.lower() == word

    def _accept(self, mark: str) -> bool:
        found = self._is_word(mark)
        self._place += found
        return found

    def _require(self, mark: str) -> None:
        if not self._accept(mark):
            raise ExpressionError(f"'{mark}' is missing")


def _span(name: str, low: Literal, high: Literal) -> Expression:
    if not (isinstance(low.value, float) and isinstance(high.value, float)):
        raise ExpressionError("a range needs two numbers")
    if low.value > high.value:
        raise ExpressionError(f"the range from {low.value:g} to {high.value:g} is empty")
    return Operation(
        "and",
        Operation(">=", Reference(name), low),
        Operation("<=", Reference(name), high),
    )


def _spelled(code: object) -> float | str:
    try:
        return float(code)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return str(code)
