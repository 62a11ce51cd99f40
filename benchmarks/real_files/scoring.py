"""Score what tabsoda proposes for a file against a person's judgement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from judgement import JudgedColumn, Judgement, SkipCodes
from numpy.typing import NDArray
from raw import code_text

from tabsoda.schema.codes import as_number
from tabsoda.schema.column import Column
from tabsoda.skips.rules import SkipRule
from tabsoda.states.cell_states import REASONS, CellStates

if TYPE_CHECKING:
    from tabsoda.survey import Survey

_BLANK_TEXTS = ("", " ", "NA")
_NO_QUESTION = "not a question"


def score_description(
    survey: Survey,
    judgement: Judgement,
    names: Sequence[str],
    occurring: Mapping[str, set[str]],
) -> dict[str, Any]:
    """Compare kinds, order, roles and codes of the proposed description.

    Parameters
    ----------
    survey : Survey
        As read without a description.
    judgement : Judgement
    names : sequence of str
        The file's own column names, in file order: the reader may spell some differently.
    occurring : mapping of str to set of str
        The codes that occur in the judged columns of the file.
    """
    described = {column.name: column for column in survey.schema}
    proposed = {
        name: described[read] for name, read in zip(names, survey.frame.columns, strict=True)
    }
    wrong_kinds, wrong_orders, wrong_roles, wrong_codes = {}, {}, {}, {}
    n_codes = n_ordinals = n_not_answers = n_missing = 0
    for judged in judgement.columns:
        column = proposed[judged.name]
        if column.kind.value not in judged.kinds and "any" not in judged.kinds:
            wrong_kinds[judged.name] = instead_of(column.kind.value, judged.kinds)
        elif column.kind.value == "ordinal" and "any" not in judged.kinds:
            n_ordinals += 1
            if not in_order([code_text(level) for level in column.levels], judged):
                wrong_orders[judged.name] = ", ".join(
                    code_text(level) for level in column.levels[:12]
                )
        if column.role.value not in judged.roles:
            wrong_roles[judged.name] = instead_of(column.role.value, judged.roles)
        found, wrong = score_codes(survey, column, judged, occurring[judged.name])
        n_codes += found
        wrong_codes |= wrong
        if "question" in judged.roles:
            codes = [code for code in judged.codes if code in occurring[judged.name]]
            meanings = [proposed_meaning(survey, column.name, code) for code in codes]
            n_not_answers += len(codes)
            n_missing += len(codes) - meanings.count("answer") - meanings.count(_NO_QUESTION)
    wrong_design = {
        name: instead_of(proposed[name].role.value, roles)
        for name, roles in judgement.design.items()
        if proposed[name].role.value not in roles
    }
    n = len(judgement.columns)
    return {
        "kinds": {"right": n - len(wrong_kinds), "of": n, "wrong": wrong_kinds},
        "orders": {"wrong": len(wrong_orders), "of": n_ordinals, "columns": wrong_orders},
        "roles": {"right": n - len(wrong_roles), "of": n, "wrong": wrong_roles},
        "design": {
            "right": len(judgement.design) - len(wrong_design),
            "of": len(judgement.design),
            "wrong": wrong_design,
        },
        "codes": {"right": n_codes - len(wrong_codes), "of": n_codes, "wrong": wrong_codes},
        "missing": {"right": n_missing, "of": n_not_answers},
    }


def instead_of(proposed: str, right: Sequence[str]) -> str:
    """Say what was proposed, and what would be right.

    Examples
    --------
    >>> instead_of("nominal", ("ordinal", "continuous"))
    'nominal instead of ordinal or continuous'
    """
    return f"{proposed} instead of {' or '.join(right)}"


def in_order(levels: Sequence[str], judged: JudgedColumn) -> bool:
    """Whether an ordinal's levels stand in the judged order, from either end, and are all answers.

    Examples
    --------
    >>> pain = JudgedColumn("pain", ("ordinal",), codes={"9": ("refused",)})
    >>> in_order(["1", "2", "3"], pain), in_order(["1", "3", "2"], pain)
    (True, False)
    >>> in_order(["1", "2", "9"], pain)
    False
    """
    if any(level in judged.codes for level in levels):
        return False
    if judged.order:
        places = {level: float(place) for place, level in enumerate(judged.order)}
        ranks = [places[level] for level in levels if level in places]
    else:
        numbers = [as_number(level) for level in levels]
        ranks = [number for number in numbers if number is not None]
        if len(ranks) < len(levels):
            return True  # Words whose order was not judged.
    return ranks in (sorted(ranks), sorted(ranks, reverse=True))


def score_codes(
    survey: Survey, column: Column, judged: JudgedColumn, occurring: set[str]
) -> tuple[int, dict[str, str]]:
    """Return the number of judged codes that occur, and those read with a wrong meaning."""
    expected = {code: meanings for code, meanings in judged.codes.items() if code in occurring}
    expected |= {code: ("answer",) for code in judged.answers if code in occurring}
    if "question" not in judged.roles:
        return 0, {}
    wrong = {}
    for code, meanings in expected.items():
        meaning = proposed_meaning(survey, column.name, code)
        if meaning not in meanings:
            wrong[f"{judged.name}: {code}"] = instead_of(meaning, meanings)
    return len(expected), wrong


def proposed_meaning(survey: Survey, name: str, code: str) -> str:
    """Return how cells with a code are read: "answer", a reason, or "not a question"."""
    if name not in survey.table.names:
        return _NO_QUESTION
    cells = holds_code(survey, name, code)
    if not cells.any():
        return "blank"  # The file holds the code, the reader took it for an empty cell.
    position = survey.table.names.index(name)
    reason = int(survey.states.reasons[cells, position][0])
    return "answer" if reason == 0 else REASONS[reason - 1].value


def holds_code(survey: Survey, name: str, code: str) -> NDArray[np.bool_]:
    """Return the rows in which a column holds a code, or is empty for "blank"; shape (n_rows,)."""
    values = survey.frame[name].to_list()
    tags = survey.tags.get(name)
    letters: Iterable[Any] = [None] * len(values) if tags is None else tags
    if code == "blank":
        pairs = zip(values, letters, strict=True)
        empty = [(v is None or v in _BLANK_TEXTS) and tag is None for v, tag in pairs]
        return np.array(empty, dtype=bool)
    if code.startswith(".") and tags is not None:
        return np.array([tag == code for tag in letters], dtype=bool)
    return np.array([v is not None and code_text(v) == code for v in values], dtype=bool)


def score_gates(rules: Sequence[SkipRule], gates: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Count rules whose gates are the judged ones, among rules of judged targets."""
    judged = [rule for rule in rules if rule.target in gates]
    false = [rule for rule in judged if not set(rule.gates) <= set(gates[rule.target])]
    true_targets = {rule.target for rule in judged} - {rule.target for rule in false}
    return {
        "rules": len(rules),
        "judged_rules": len(judged),
        "true_gates": len(judged) - len(false),
        "judged_targets": len(gates),
        "targets_right": len(true_targets),
        "false": {f"{rule.identifier} {rule.target}": ", ".join(rule.gates[:4]) for rule in false},
    }


def masked_states(
    survey: Survey, skips: SkipCodes
) -> tuple[CellStates, NDArray[np.bool_], list[int]]:
    """Return states in which skip and nonresponse codes are plain blanks, and the true skips.

    Returns
    -------
    states : CellStates
    truth : ndarray of bool, shape (n_rows, n_questions)
    scored : list of int
        Positions of the columns whose skips are known.
    """
    names = survey.table.names
    answered = survey.states.answered.copy()
    truth = np.zeros_like(answered)
    scored = []
    for position, name in enumerate(names):
        if name in skips.exclude:
            continue
        for code in skips.nonresponse:
            answered[:, position] &= ~holds_code(survey, name, code)
        for code in _skip_codes_of(name, skips):
            truth[:, position] |= holds_code(survey, name, code)
        answered[:, position] &= ~truth[:, position]
        if truth[:, position].any():
            scored.append(position)
    nothing = np.zeros_like(answered)
    return CellStates.from_masks(answered, nothing, names), truth, scored


def _skip_codes_of(name: str, skips: SkipCodes) -> tuple[str, ...]:
    if name in skips.by_column:
        return skips.by_column[name]
    return skips.codes if not skips.columns or name in skips.columns else ()


def score_cells(found: NDArray[np.bool_], truth: NDArray[np.bool_]) -> dict[str, Any]:
    """Return precision and recall of skip cells, None where nothing is there to divide by.

    Examples
    --------
    >>> import numpy as np
    >>> score_cells(np.array([True, True, False]), np.array([True, False, True]))
    {'skips': 2, 'found': 2, 'precision': 0.5, 'recall': 0.5}
    """
    both = int((found & truth).sum())
    n_found, n_true = int(found.sum()), int(truth.sum())
    return {
        "skips": n_true,
        "found": n_found,
        "precision": round(both / n_found, 4) if n_found else None,
        "recall": round(both / n_true, 4) if n_true else None,
    }
