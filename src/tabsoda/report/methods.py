"""The methods paragraph of a report, and the details needed to reproduce the run."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from tabsoda._version import __version__
from tabsoda.event_texts.template import product_text
from tabsoda.routing.record import RoutingRecord
from tabsoda.schema.column import Reason
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.rules import RuleStatus, SkipRule
from tabsoda.table import CodedTable

if TYPE_CHECKING:
    from tabsoda.results.imputations import Imputations

CITATION = (
    "Chen Y, Kim T, Shu H, Feng Y (2026). TabSODA: Tabular Diffusion based Imputation with Skip "
    "Pattern Detection and Ordinal Awareness. Preprint."
)
BARTLETT = (
    "Bartlett JW, Seaman SR, White IR, Carpenter JR (2015). Multiple imputation of covariates by "
    "fully conditional specification: Accommodating the substantive model. Statistical Methods in "
    "Medical Research 24(4), 462-487."
)
RUBIN = "Rubin DB (1987). Multiple Imputation for Nonresponse in Surveys. Wiley."
# As the engine has them; a test compares. The engine loads torch, which a report does not need.
FALSE_SHARE = 0.02
INCOMPLETE_SHARE = 0.05
_MOST_NAMED = 5
_LIBRARIES = ("numpy", "polars", "scikit-learn", "scipy", "torch")


def describe_methods(
    result: Imputations, manifest: dict[str, Any] | None, rules: RuleSet | None
) -> dict[str, Any]:
    """Write the methods paragraph, and list seed, versions, settings and hashes.

    Parameters
    ----------
    result : Imputations
    manifest : dict or None
        The record of ``tabsoda impute``; without it, only the content of the result is described.
    rules : RuleSet or None
    """
    manifest = manifest or {}
    options = manifest.get("options", {})
    inputs = manifest.get("inputs", {})
    return {
        "paragraph": _paragraph(result, manifest, rules),
        "citations": [CITATION, *[BARTLETT] * _has_found_products(result), RUBIN],
        "interactions": [list(one) for one in result.interactions],
        "requested_interactions": list(result.requested_interactions),
        "seed": options.get("seed"),
        "options": options,
        "settings": result.settings,
        "versions": {
            "tabsoda": manifest.get("tabsoda", __version__),
            "python": manifest.get("python", platform.python_version()),
            **manifest.get("libraries", {name: version(name) for name in _LIBRARIES}),
        },
        "inputs": [
            {"what": what, "file": one["file"], "sha256": one["sha256"]}
            for what, one in inputs.items()
        ],
        "model_sha256": manifest.get("outputs_sha256", {}).get("model/model.safetensors"),
    }


def _paragraph(result: Imputations, manifest: dict[str, Any], rules: RuleSet | None) -> str:
    sentences = [
        *_data_sentences(result),
        *_model_sentences(result),
        *_draw_sentences(result, manifest.get("options", {})),
        *_skip_sentences(result, manifest, rules),
        *_edit_sentences(result),
    ]
    if len(result):
        sentences.append(
            "Estimates from the completed tables are to be pooled by Rubin's rules (Rubin 1987)."
        )
    return " ".join(sentences)


def _data_sentences(result: Imputations) -> list[str]:
    n_rows, n_questions = result.table.shape
    states = result.table.states
    cells = len(result.cells.rows)
    asked = int(states.answered.sum() + states.missing.sum())
    kinds = [column.kind.value for column in result.table.columns]
    left = int(states.missing.sum()) - cells
    sentences = [
        f"Item nonresponse was imputed with TabSODA {__version__} (Chen et al. 2026) for {n_rows:,}"
        f" respondents and {n_questions:,} questions ({kinds.count('nominal')} nominal,"
        f" {kinds.count('ordinal')} ordinal, {kinds.count('continuous')} numeric), assuming that"
        " answers are missing at random given the other answers.",
        f"Of {asked:,} cells that were not structural skips, {cells:,} ({_percent(cells, asked)})"
        " held no answer and were imputed.",
    ]
    if left > 0:
        cells_left = "1 missing cell" if left == 1 else f"{left:,} missing cells"
        was = "was" if left == 1 else "were"
        sentences.append(f"{cells_left} could not be imputed and {was} left missing.")
    return sentences


def _has_found_products(result: Imputations) -> bool:
    """Return whether draws have products that were found in the answers."""
    return _draws_from_regressions(result) and bool(result.interactions)


def _draws_from_regressions(result: Imputations) -> bool:
    settings = result.settings
    refitted = settings.get("draws", {}).get("method") == "refitted"
    return bool(len(result) and refitted and settings.get("regressions", {}).get("sets"))


def _model_sentences(result: Imputations) -> list[str]:
    """Describe what was fitted, and where the draws and the point estimates come from."""
    settings = result.settings
    if "em" in settings:
        rounds = settings["em"].get("rounds")
        within = f" in up to {rounds} rounds" if rounds else ""
        return [
            "All questions were modelled jointly by a diffusion model trained with expectation"
            f" maximisation{within}; ordinal answers were encoded as cumulative-probit latents and"
            " nominal answers as analog bits. Draws and point estimates come from its reverse"
            " process."
        ]
    sentences = [
        "A neural network was trained on all questions together to predict answers that were hidden"
        " at random from a respondent's other answers."
    ]
    if _draws_from_regressions(result):
        sentences += _regression_sentences(result)
    elif len(result):
        sentences.append(
            "Draws come from the network's predictive distributions, one question after the other,"
            " each given the answers drawn before it."
        )
    return [*sentences, *_design_sentences(result), _point_sentence(settings)]


def _design_sentences(result: Imputations) -> list[str]:
    """Say what of the sampling design the models had as predictors."""
    used = [event.counts for event in result.events if event.kind == "design_in_model"]
    if not used:
        return []
    parts = []
    if used[0]["weights"]:
        parts.append("the logarithm of the sampling weights")
    if used[0]["strata"]:
        parts.append("the strata")
    if used[0]["clusters"]:
        n = len(used[0]["questions"])
        parts.append(
            f"for {n:,} {_plural('question', n)} whose answers differed between clusters the mean"
            " of the respondent's cluster"
        )
    listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return [f"The sampling design entered all models as further predictors: {listed}."]


def _regression_sentences(result: Imputations) -> list[str]:
    regressions = result.settings["regressions"]
    products = _product_sentences(result)
    straight = "" if products else ", without interactions and curves"
    return [
        "Draws come from chained regressions, one per question: linear regression with predictive"
        " mean matching for numbers, multinomial logistic regression for nominal and proportional"
        " odds regression for ordinal answers, each with the main effects of at most"
        f" {regressions['max_questions']} other questions{straight}.",
        *products,
        f"{regressions['sets']} sets of regressions were fitted, each to a differently completed"
        f" table and to a random {regressions['row_share']:.0%} of its rows, so that coefficients"
        " vary between draws; each draw started from the network's prediction"
        f" and was redrawn in {regressions['sweeps']} sweeps.",
        f"Nominal questions with more than {regressions['max_levels']} levels were drawn from the"
        " network.",
    ]


def _product_sentences(result: Imputations) -> list[str]:
    """Describe the products and curves in the regressions; nothing if they are straight lines."""
    sentences = []
    found = [
        f"{product_text(event.counts['questions'])} for {event.column}"
        for event in result.events
        if event.kind == "interaction_in_draws"
    ]
    requested = [
        product_text(event.counts["questions"])
        for event in result.events
        if event.kind == "interaction_requested"
    ]
    tested = f"at a nominal false discovery rate of {FALSE_SHARE:.0%} per question"
    if found:
        n_questions = len({question for question, _ in result.interactions})
        more = max(len(found) - _MOST_NAMED, 0)
        sentences += [
            "Products of two or three questions and curves (square and cube) were added to a"
            f" regression where score tests, {tested}, found them in addition to the main effects:"
            f" {len(found):,} for {n_questions:,} {_plural('question', n_questions)}"
            f" ({', '.join(found[:_MOST_NAMED])}{f', and {more:,} more' if more else ''}).",
            "A question in such a product of which at least"
            f" {INCOMPLETE_SHARE:.0%} of the answers were missing was not regressed on the question"
            " that depends on the product. It was drawn in proportion to its own regression times"
            " the likelihood of that question (of up to three such questions), so that the"
            " regressions are compatible"
            " (substantive-model-compatible imputation, Bartlett et al. 2015).",
        ]
    elif result.settings["regressions"].get("interactions"):
        sentences.append(
            f"Score tests, {tested}, found no product or curve of questions that a regression"
            " needed in addition to the main effects."
        )
    if requested:
        shown, verb = " and ".join(requested), "was" if len(requested) == 1 else "were"
        sentences.append(
            f"The {_plural('term', len(requested))} {shown} {verb} specified by the analyst and"
            " included, with main effects, in the regressions of all other questions."
        )
        if not result.settings["regressions"].get("interactions"):
            sentences.append("No other products and no curves were looked for.")
    return sentences


def _plural(noun: str, count: int) -> str:
    return noun if count == 1 else f"{noun}s"


def _point_sentence(settings: dict[str, Any]) -> str:
    parts = ["the network"]
    if settings.get("trees", {}).get("effort", "none") != "none":
        parts.append("gradient-boosted trees (one model per question)")
    if settings.get("regressions", {}).get("point_sets"):
        parts.append("regressions")
    if len(parts) == 1:
        return "Point estimates come from the network."
    return (
        f"Point estimates average {', '.join(parts[:-1])} and {parts[-1]}, with weights chosen per"
        " question on held-out answers; they understate uncertainty and serve for prediction, not"
        " for standard errors."
    )


def _draw_sentences(result: Imputations, options: dict[str, Any]) -> list[str]:
    seed = f" (random seed {options['seed']})" if options.get("seed") is not None else ""
    if not len(result):
        return [f"Answers were estimated once{seed}; no multiple imputations were drawn."]
    tables = "completed table was" if len(result) == 1 else "completed tables were"
    return [f"{len(result):,} {tables} drawn{seed}."]


def _edit_sentences(result: Imputations) -> list[str]:
    """Describe how many edits there are, and what was done to satisfy them."""
    edits, schema = result.edits, None if result.survey is None else result.survey.schema
    if edits is None or schema is None:
        return []
    n_edits = sum(edit.approved for edit in schema.edits)
    bounded = sum((c.minimum, c.maximum) != (None, None) for c in schema.questions)
    parts = [(n_edits, "edit rule"), (bounded, "bounded number")]
    parts.append((len(schema.derivations), "derived variable"))
    named = [f"{n:,} {what}{'s' * (n != 1)}" for n, what in parts if n]
    sentences = [
        f"Imputed answers satisfy {' and '.join(named)}: cells in violated rules were drawn again"
        f" given the respondent's other answers, or took the nearest consistent value"
        f" ({edits.mean_repaired:,.1f} violations per draw); observed answers were not changed."
    ]
    if edits.unsatisfied:
        left = "left missing" if edits.policy == "missing" else "imputed without the rule"
        rows = sum(edits.unsatisfied.values())
        sentences.append(f"In {rows:,} cases no value satisfied a rule, and the cells were {left}.")
    return sentences


def _skip_sentences(
    result: Imputations, manifest: dict[str, Any], rules: RuleSet | None
) -> list[str]:
    """Describe how many cells are skips, how they were identified, and how gates were imputed."""
    skipped = int(result.table.states.skipped.sum())
    active = () if rules is None else rules.active
    options = manifest.get("options", {})
    # Results of earlier versions have "mine".
    mined = options.get("skips") == "mine" or bool(options.get("mine"))
    in_words = _rules_in_words(active, mined=mined) if active else ""
    known = ["a skip mask"] if "skip_mask" in manifest.get("inputs", {}) else []
    if _has_coded_skips(result.table) or (skipped and not active and not known):
        known.insert(0, "skip codes in the data")
    empty = f"{skipped:,} cells that the questionnaire routed past (structural skips) were left"
    if not skipped:
        how = " or ".join([*known, *filter(None, [in_words])])
        first = f"No cell was identified as a structural skip{f' by {how}' if how else ''}."
    elif active and known and manifest.get("counts", {}).get("skipped_by_rules") == 0:
        first = (
            f"{empty} empty; they were identified by {' and '.join(known)}, and {in_words}"
            f" {'adds' if len(active) == 1 else 'add'} no further cell."
        )
    else:
        sources = " and ".join([*known, *filter(None, [in_words])])
        first = f"{empty} empty; they were identified by {sources}."
    sentences = [first]
    if active and result.routing is not None and result.routing.policy == "follow":
        sentences.append(
            "Where the answer that decides on a skip was itself missing, each completed table"
            " imputes that answer first and then skips or imputes the questions that depend on it"
            f"{_following_text(result.routing)}."
        )
    return sentences


def _following_text(routing: RoutingRecord) -> str:
    """Describe how many cells were skipped in some tables and imputed in others; may be empty."""
    if not routing.followers or not routing.skipped:
        return ""
    skipped = routing.mean_skipped - routing.withheld
    return f" ({routing.followers:,} cells, of which on average {skipped:,.0f} were skipped)"


def _has_coded_skips(table: CodedTable) -> bool:
    """Return whether a column with skips has a code for them."""
    coded = [Reason.SKIP in column.special_codes.values() for column in table.columns]
    return bool((table.states.skipped.any(axis=0) & np.array(coded, dtype=bool)).any())


def _rules_in_words(active: tuple[SkipRule, ...], *, mined: bool) -> str:
    n_reviewed = sum(rule.status is RuleStatus.APPROVED for rule in active)
    noun = "routing rule" if len(active) == 1 else "routing rules"
    origin = " mined from the data" if mined else ""
    n_unread = sum(rule.read_by_nobody for rule in active)
    if n_reviewed == len(active):
        unread = "all" if n_unread == len(active) else f"{n_unread:,}"
        review = "all approved" + (f", {unread} without individual review" if n_unread else "")
    elif n_reviewed == 0:
        review = "not reviewed"
    else:
        review = f"{n_reviewed:,} of them approved, the others not reviewed"
    return f"{len(active):,} {noun}{origin} ({review})"


def _percent(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "0%"
