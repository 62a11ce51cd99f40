"""Find boxes to tick: columns that hold one answer or a blank, where a blank is "not ticked"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tabsoda.schema.column import Code
from tabsoda.schema.content import Content
from tabsoda.schema.words import words

# Neighbouring columns that make a list of boxes.
_MIN_BOXES = 3


def could_be_box(content: Content, labels: Mapping[Code, str]) -> bool:
    """Whether a column holds one answer or a blank, and neither codes nor other labels."""
    return content.n_answers < content.n_rows and has_one_answer(content, labels)


def has_one_answer(content: Content, labels: Mapping[Code, str]) -> bool:
    """Whether a column holds one answer, and neither codes nor other labels."""
    return len(content.answers) == 1 and not content.special and len(labels) <= 1


def names_its_answer(title: str, content: Content) -> bool:
    """Whether a name or label ends with the column's only answer: "Which pies? - Apple".

    Examples
    --------
    >>> names_its_answer("Which pies? - Apple", Content(("Apple",), {}, 9))
    True
    """
    answer, title_words = words(str(content.answers[0])), words(title)
    is_text = any(map(str.isalpha, "".join(answer)))
    return is_text and len(title_words) > len(answer) and title_words[-len(answer) :] == answer


def boxes_in_lists(candidates: Sequence[Content | None]) -> list[bool]:
    """Return which columns belong to a list of boxes, in file order; None is another column.

    Constants that are blank in the same rows are not a list: boxes are ticked by different numbers
    of respondents.

    Examples
    --------
    >>> ticked = [Content((1,), {}, 9, counts=(n,)) for n in (4, 2, 5)]
    >>> boxes_in_lists([None, *ticked, None])
    [False, True, True, True, False]
    >>> boxes_in_lists(ticked[:2])
    [False, False]
    """
    result = [False] * len(candidates)
    start = 0
    for stop in range(len(candidates) + 1):
        if stop < len(candidates) and candidates[stop] is not None:
            continue
        run = [content for content in candidates[start:stop] if content is not None]
        if len(run) >= _MIN_BOXES and len({content.n_answers for content in run}) > 1:
            result[start:stop] = [True] * len(run)
        start = stop + 1
    return result
