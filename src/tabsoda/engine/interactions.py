"""Terms that draws must have, such as ``"AGE:SEX"``: their form, and the questions they name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import combinations, pairwise
from math import prod
from typing import Any, NoReturn

from tabsoda.engine.settings import EngineSettings
from tabsoda.errors import InputError
from tabsoda.schema.column import Column, ColumnKind

# True: products and curves that the answers show; False: straight lines; or terms to add to those.
Interactions = bool | Sequence[str | Sequence[str]]

_FORM = "True, False or a list of terms such as ['AGE:SEX', 'AGE:AGE']"
# As regressions have it: so many indicators of a nominal at most.
_MOST_INDICATORS = 15
# Every regression gets these terms, so they must not outnumber its other predictors by far.
_MOST_PRODUCTS = 250


def term_texts(interactions: Any) -> bool | list[str]:
    """Return interactions as plain values; raise if their form is wrong.

    Parameters
    ----------
    interactions : bool or sequence of str or of sequences of str

    Examples
    --------
    >>> term_texts([" AGE : SEX", ("AGE", "AGE")])
    ['AGE:SEX', 'AGE:AGE']
    """
    if isinstance(interactions, bool):
        return interactions
    if not isinstance(interactions, list | tuple):
        raise InputError(
            "The parameter interactions is invalid", found=repr(interactions), expected=_FORM
        )
    return [":".join(_pieces(term)) for term in interactions]


def with_interactions(settings: EngineSettings, interactions: Interactions) -> EngineSettings:
    """Return the settings of a fit with these interactions; raise if draws cannot have them.

    Examples
    --------
    >>> with_interactions(EngineSettings(), False).regressions.interactions
    False
    """
    if term_texts(interactions) in (True, []):
        return settings
    if settings.draws.method != "refitted":
        raise InputError(
            "The parameter interactions cannot be combined with draws from the network alone",
            found=f"interactions={interactions!r} and draws.method={settings.draws.method!r}",
            next_step="Leave out one of them: the network has no terms to choose",
        )
    if interactions is False:
        return settings.replace(regressions={"interactions": False})
    return settings


def forced_questions(
    interactions: Interactions,
    columns: Sequence[Column],
    others: Mapping[str, str] | None = None,
) -> tuple[tuple[int, ...], ...]:
    """Return the positions of the questions of every term; raise if there is no such question.

    Parameters
    ----------
    interactions : bool or sequence of str or of sequences of str
    columns : sequence of Column
        The questions.
    others : mapping of str to str, optional
        Columns that are not questions, with their roles.

    Returns
    -------
    tuple of tuple of int
        Two or three each, in order; each term once.

    Examples
    --------
    >>> columns = (Column("AGE", ColumnKind.CONTINUOUS), Column("SEX", ColumnKind.NOMINAL, (1, 2)))
    >>> forced_questions(["SEX:AGE", "AGE:AGE"], columns)
    ((0, 1), (0, 0))
    """
    if isinstance(interactions, bool):
        return ()
    term_texts(interactions)
    places = {column.name: place for place, column in enumerate(columns)}
    found: dict[tuple[int, ...], None] = {}
    for term in interactions:
        names = _names(term, {*places, *(others or {})})
        text = ":".join(names)
        if len(names) not in (2, 3):
            raise InputError(
                f"The interaction '{text}' is not a product of two or three questions",
                found="1 name" if len(names) == 1 else f"{len(names)} names",
                expected="two or three names with colons between them, such as AGE:SEX; AGE:AGE"
                " is a curve",
            )
        for name in names:
            if name not in places:
                _refuse_name(text, name, places, others or {})
        questions = tuple(sorted(places[name] for name in names))
        _check_products(text, [columns[place] for place in questions])
        found[questions] = None
    return tuple(found)


def _pieces(term: Any) -> list[str]:
    """Return the parts of a term between its colons, or its names if they are given one by one."""
    given = term.split(":") if isinstance(term, str) else term
    is_list = isinstance(given, list | tuple) and all(isinstance(name, str) for name in given)
    if not is_list or not given or not all(name.strip() for name in given):
        raise InputError(
            "A term of the parameter interactions cannot be read",
            found=repr(term),
            expected="two or three names with colons between them, such as 'AGE:SEX'",
        )
    return [name.strip() for name in given]


def _names(term: str | Sequence[str], known: set[str]) -> list[str]:
    """Split a term into names; a name may itself contain a colon."""
    pieces = _pieces(term)
    if not isinstance(term, str) or all(piece in known for piece in pieces):
        return pieces
    for names in _joined(term.split(":")):
        if all(name in known for name in names):
            return names
    return pieces


def _joined(pieces: list[str]) -> Iterator[list[str]]:
    """Yield all ways to join neighbours to two or three names."""
    for n_names in (2, 3):
        for cuts in combinations(range(1, len(pieces)), n_names - 1):
            edges = [0, *cuts, len(pieces)]
            yield [":".join(pieces[start:stop]).strip() for start, stop in pairwise(edges)]


def _refuse_name(
    text: str, name: str, places: Mapping[str, int], others: Mapping[str, str]
) -> NoReturn:
    if name in others:
        raise InputError(
            f"The interaction '{text}' names '{name}', which is not a question",
            found=f"the role {others[name]}",
            expected="questions, because draws depend on nothing else",
            next_step="Leave out the term, or give the column the role question in the description",
        )
    by_lower = {one.lower(): one for one in reversed(list(places))}
    near = [by_lower[one] for one in get_close_matches(name.lower(), by_lower, n=3, cutoff=0.6)]
    shown = list(places)[:8]
    more = f" and {len(places) - 8} more" if len(places) > 8 else ""
    raise InputError(
        f"The interaction '{text}' names '{name}', which is not in this table",
        expected=None if near else f"one of {', '.join(shown)}{more}",
        next_step=f"Similar names: {', '.join(near)}" if near else None,
    )


def _check_products(text: str, columns: list[Column]) -> None:
    """Raise if a term has the curve of a question that has none, or too many products."""
    for column in columns:
        is_scale = column.kind is not ColumnKind.NOMINAL and column.n_levels != 2
        if columns.count(column) > 1 and not is_scale:
            raise InputError(
                f"The interaction '{text}' contains a curve of '{column.name}'",
                found=f"a {column.kind.value} question"
                + (" of two levels" if column.n_levels == 2 else ""),
                expected="a number, or an ordinal of three levels or more",
            )
    widths = [
        min(column.n_levels - 1, _MOST_INDICATORS) if column.kind is ColumnKind.NOMINAL else 1
        for column in columns
    ]
    if prod(widths) > _MOST_PRODUCTS:
        raise InputError(
            f"The interaction '{text}' has too many products",
            found=f"{prod(widths):,}, one for each combination of levels",
            expected=f"at most {_MOST_PRODUCTS}",
            next_step="Merge levels, or name fewer questions",
        )
