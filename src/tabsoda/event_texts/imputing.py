"""Events of imputing, and of following the rules where gates are missing."""

from __future__ import annotations

from tabsoda.event_texts.template import EventText

_IMPUTE: dict[str, EventText] = {
    "imputing_threads_chosen": EventText(
        "impute",
        "threads chosen for imputing",
        "{threads} for the network, {cores:core/cores} granted",
    ),
    "sampler_step_not_captured": EventText(
        "impute",
        "sampler runs in a slower way",
        "{way} instead of {wanted}: {error}, {message}",
    ),
    "rows_without_answers": EventText(
        "impute",
        "rows without any answer",
        "{rows} of {of_rows:row/rows}; imputed from what is common in the whole table",
    ),
    "answers_clipped_for_network": EventText(
        "impute",
        "answers clipped for the network",
        "{answers:answer/answers} far from those fitted; unchanged in the result",
    ),
    "means_in_median_table": EventText(
        "impute",
        "numbers in the median table are means",
        "the paper's decoder gives the mean of a number, not its distribution",
    ),
    "integers_become_float": EventText(
        "impute", "integers become Float64", "imputed numbers are not whole"
    ),
    "imputed_numbers_clipped": EventText(
        "impute",
        "imputed numbers clipped to the column's type",
        "{values} of {of_values:value/values}, point estimates and draws, to between {low} and"
        " {high}",
    ),
    "finished_draws_reused": EventText(
        "impute", "finished draws of an earlier start used", "{draws}"
    ),
}

_ROUTING: dict[str, EventText] = {
    "states_kept_as_given": EventText(
        "routing", "states kept as given", "no rules say where a drawn answer leads"
    ),
    "states_kept_despite_drawn_gates": EventText(
        "routing",
        "states kept despite drawn gates",
        "{gates:missing gate/missing gates} and {followers:dependent cell/dependent cells},"
        " all imputed",
    ),
    "routes_learned_from_rows_at_hand": EventText(
        "routing",
        "routes learned from the rows at hand",
        "the model was fitted without these rules",
    ),
    "followers_settled_by_drawn_gates": EventText(
        "routing",
        "dependent questions follow drawn gates",
        "{gates:missing gate/missing gates} and {followers:dependent cell/dependent cells};"
        " {skipped:.1f} cells skipped on average over {draws:draw/draws}",
    ),
    "absent_respondents_skipped": EventText(
        "routing",
        "skipped in completed tables",
        "{cells:cell/cells} of absent respondents, whom a rule leads past the question",
    ),
    "gate_answers_ruled_out": EventText(
        "routing",
        "answers of gates ruled out",
        "{per_draw:.1f} per draw, because dependent questions were asked",
    ),
    "answers_kept_despite_drawn_gates": EventText(
        "routing",
        "answers kept although a drawn gate leads past the question",
        "{per_draw:.1f} per draw, to questions asked after a refusal",
    ),
    "cells_left_missing": EventText(
        "routing",
        "left missing",
        "{cells:cell/cells}: any answer would break[ {rules}][ one of {n_rules:rule/rules}]",
    ),
    "gate_drawn_regardless_of_followers": EventText(
        "routing",
        "missing gate drawn regardless of dependent questions",
        "{respondents:respondent/respondents} with the reason {reason}, after which these were"
        " asked or skipped alike: {followers}",
    ),
    "gate_drawn_to_fit_followers": EventText(
        "routing",
        "missing gate drawn to fit dependent questions",
        "{respondents:respondent/respondents} with the reason {reason}, after which these were"
        " asked of some only: {followers}",
    ),
}

_EDITS: dict[str, EventText] = {
    "variable_derived": EventText("edits", "variable derived", "{formula}"),
    "edit_violated_by_answers": EventText(
        "edits",
        "observed answers violate an edit",
        "{edit}: {rows:respondent/respondents}; the answers are not changed",
    ),
    "imputed_cells_edited": EventText(
        "edits",
        "imputed answers changed to satisfy edits",
        "{edits:edit/edits}; {per_draw:.1f} violations per draw, {in_point} in point estimates",
    ),
    "edit_not_satisfied": EventText(
        "edits",
        "no imputed answer satisfies an edit",
        "{edit}: {rows:respondent/respondents}, in at least one table; {policy}",
    ),
    "cells_left_missing_by_edits": EventText(
        "edits",
        "left missing",
        "{cells:cell/cells}: no value satisfies the edits, or a part of it is missing",
    ),
}

IMPUTING = _IMPUTE | _ROUTING | _EDITS
