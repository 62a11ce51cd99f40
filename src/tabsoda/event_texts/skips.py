"""Events of mining routing rules and applying them."""

from __future__ import annotations

from tabsoda.event_texts.template import EventText

SKIPS: dict[str, EventText] = {
    "every_blank_taken_as_missing": EventText(
        "skips",
        "every blank taken as missing",
        "no rule, mask or code marks a cell as skipped; see tabsoda mine, or skips='mine'",
    ),
    "column_not_used_as_gate": EventText(
        "skips",
        "column not used as a gate",
        "{different:different answer/different answers} from {answers:respondent/respondents}",
    ),
    "question_blank_in_every_row": EventText(
        "skips",
        "question not mined: blank in every row",
        "nothing shows who would have been asked",
    ),
    "question_with_few_blanks": EventText(
        "skips",
        "question not mined: too few blanks",
        "{blanks:blank/blanks}; a rule must explain {needed}",
    ),
    "first_question_not_mined": EventText(
        "skips", "question not mined: it is the first", "no earlier question can be its gate"
    ),
    "candidate_rules_rejected": EventText(
        "skips",
        "candidate rules rejected",
        "[, {support} by support][, {purity} by purity][, {association} by association]"
        "[, {redundant} as redundant][, {false_positives} by the false-positive cap]"
        "[, {false_negatives} by the false-negative cap]",
    ),
    "duplicate_rules_collapsed": EventText("skips", "duplicate rules merged", "{rules:rule/rules}"),
    "other_gates_fit_as_well": EventText(
        "skips", "other gates fit as well", "{chosen} chosen rather than {others}"
    ),
    "mined_rule_dropped": EventText(
        "skips",
        "mined rule dropped",
        "{rule}: {blank} blank and {asked} asked once all rules are applied",
    ),
    "skips_withheld": EventText(
        "skips",
        "skips withheld: respondent absent",
        "{cells:cell/cells} among blanks that nothing explains",
    ),
    "known_skips_kept": EventText(
        "skips", "skips known from codes kept", "{cells:cell/cells} that no rule explains"
    ),
    "rules_mined": EventText("skips", "rules mined", "{rules:rule/rules}, screen {screen}"),
    "skips_taken_from_rules": EventText(
        "skips", "skips taken from rules", "{cells:cell/cells} by {rules:rule/rules}"
    ),
    "unreviewed_rules_applied": EventText(
        "skips",
        "unreviewed rules applied",
        "{rules} of {of_rules:rule/rules}, {why}: {identifiers}",
    ),
    "rejected_rules_not_applied": EventText(
        "skips", "rejected rules not applied", "{rules:rule/rules}"
    ),
}
