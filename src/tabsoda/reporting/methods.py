"""What a paper has to say about how answers were imputed, with what makes it repeatable."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import Any

from tabsoda._version import __version__
from tabsoda.imputations.imputations import Imputations
from tabsoda.skips.rule_set import RuleSet

CITATION = (
    "Chen Y, Kim T, Shu H, Feng Y (2026). TabSODA: Tabular Diffusion based Imputation with Skip "
    "Pattern Detection and Ordinal Awareness. Preprint."
)
RUBIN = "Rubin DB (1987). Multiple Imputation for Nonresponse in Surveys. Wiley."
_LIBRARIES = ("numpy", "polars", "scikit-learn", "scipy", "torch")


def describe_methods(
    result: Imputations, manifest: dict[str, Any] | None, rules: RuleSet | None
) -> dict[str, Any]:
    """Write the methods paragraph, and list seed, versions, settings and hashes.

    Parameters
    ----------
    result : Imputations
    manifest : dict or None
        What ``tabsoda impute`` recorded; without it, what can be known is told.
    rules : RuleSet or None
    """
    manifest = manifest or {}
    options = manifest.get("options", {})
    inputs = manifest.get("inputs", {})
    return {
        "paragraph": _paragraph(result, options, inputs, rules),
        "citations": [CITATION, RUBIN],
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


def _paragraph(
    result: Imputations, options: dict[str, Any], inputs: dict[str, Any], rules: RuleSet | None
) -> str:
    n_rows, n_questions = result.table.shape
    states = result.table.states
    cells = len(result.cells.rows)
    asked = int(states.answered.sum() + states.missing.sum())
    kinds = [column.kind.value for column in result.table.columns]
    drawn = (
        f"drawn {len(result):,} times" if len(result) else "estimated once, without multiple draws"
    )
    seed = f" with seed {options['seed']}" if options.get("seed") is not None else ""
    sentences = [
        f"Item nonresponse was imputed with TabSODA {__version__} (Chen et al. 2026), "
        f"{_model_in_words(result.settings)}, for {n_rows:,} respondents and {n_questions:,}"
        f" questions ({kinds.count('nominal')} nominal, {kinds.count('ordinal')} ordinal,"
        f" {kinds.count('continuous')} continuous).",
        f"Of {asked:,} cells that respondents were asked, {cells:,} ({_percent(cells, asked)}) held"
        f" no answer and were {drawn}{seed}.",
        f"{int(states.skipped.sum()):,} cells that the questionnaire led past were not imputed"
        f"{_source_of_skips(options, inputs, rules)}.",
    ]
    if len(result):
        sentences.append(
            "Each completed table is to be analysed by itself, and estimates are to be pooled by"
            " Rubin's rules (Rubin 1987)."
        )
    return " ".join(sentences)


def _model_in_words(settings: dict[str, Any]) -> str:
    """Say what kind of model was fitted, from its settings."""
    if settings.get("backbone", {}).get("name", "mlp") == "mlp":
        return (
            "a diffusion model that is trained by expectation maximisation on the answered cells of"
            " all questions together"
        )
    text = (
        "a conditional diffusion model that predicts hidden answers from visible ones, trained on"
        " the answered cells of all questions together"
    )
    if settings.get("experts", {}).get("trees", "none") != "none":
        text += " and, for point estimates, averaged with one gradient-boosted model per question"
    return text


def _source_of_skips(options: dict[str, Any], inputs: dict[str, Any], rules: RuleSet | None) -> str:
    sources = []
    if options.get("mine"):
        sources.append("routing rules mined from the data")
    elif rules is not None:
        sources.append(f"{len(rules.active):,} routing rules")
    if "skip_mask" in inputs:
        sources.append("a skip mask")
    return f"; they were identified by {' and '.join(sources)}" if sources else ""


def _percent(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "0%"
