"""Fits a model in several processes, on one machine or many, started by torchrun.

    torchrun --nproc-per-node 2 -m tabsoda.cli.torchrun survey.parquet -o model

``tabsoda impute survey.parquet --model model -o imputed`` then imputes with it, in shards or not.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from tabsoda.errors import TabSODAError

if TYPE_CHECKING:
    from tabsoda.survey import Survey


def fit_together(
    data: Path,
    /,
    *,
    model: Annotated[Path, Parameter(name=["--output", "-o"])],
    survey: Path | None = None,
    rules: Path | None = None,
    skip_mask: Path | None = None,
    quality: Literal["fast", "balanced", "best", "tiny"] = "balanced",
    changes: Annotated[tuple[str, ...], Parameter(name="--set", negative="")] = (),
    interaction: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    straight_lines: Annotated[bool, Parameter(negative="")] = False,
    seed: int = 0,
    fit_rows: int | None = None,
    device: str = "auto",
) -> None:
    """Fit a model with every batch split between the processes, and save it.

    Parameters
    ----------
    data
        The survey.
    model
        Folder to save the model to.
    survey
        The survey's description.
    rules
        Reviewed routing rules.
    skip_mask
        A mask that says which cells are skips.
    quality
        How much time to spend: fast, balanced or best; tiny is for tests and first tries, and its
        estimates are poor.
    changes
        Change one setting, such as training.max_steps=500; may be repeated.
    interaction
        A term that the analysis will need, such as AGE:SEX, or AGE:AGE for a curve; may be
        repeated. Draws then have it whether or not the answers show it.
    straight_lines
        Draw from regressions without interactions and curves.
    seed
        The same seed gives the same model, up to rounding.
    fit_rows
        Fit on at most this many rows, sampled by a hash of their content; Parquet only.
    device
        auto, cpu or cuda.
    """
    from tabsoda._internal.files import refuse_to_overwrite
    from tabsoda.cli.impute_options import parse_interactions
    from tabsoda.cli.impute_settings import parse_settings
    from tabsoda.engines import settings_for
    from tabsoda.imputer import TabSODAImputer
    from tabsoda.scale.training_group import training_group
    from tabsoda.skips.review_policy import require_review
    from tabsoda.skips.rule_set import RuleSet

    refuse_to_overwrite(model, force=False)
    settings = parse_settings(changes, settings_for(quality, 1, 1))
    imputer = TabSODAImputer(
        quality=quality,
        settings=settings,
        interactions=parse_interactions(interaction, straight_lines=straight_lines),
        random_state=seed,
        device=device,
    )
    if rules is not None:
        imputer.rules = RuleSet.from_toml(rules)
        require_review(imputer.rules, accepted=False, file=str(rules))
    source = _read(data, survey, skip_mask, fit_rows, seed)
    with training_group() as first:
        imputer.fit(source)
        if first:
            imputer.save(model)


def _read(
    data: Path, survey: Path | None, skip_mask: Path | None, fit_rows: int | None, seed: int
) -> Survey:
    from tabsoda.reading import read_survey
    from tabsoda.scale.parquet_rows import ParquetRows
    from tabsoda.scale.row_sample import sample_positions

    if fit_rows is None:
        return read_survey(data, survey, skip_mask=skip_mask)
    source, block = ParquetRows.open(data), 50_000
    chosen = sample_positions(source, fit_rows, block, seed)
    mask = None if skip_mask is None else ParquetRows.open(skip_mask).take(chosen, block)
    return read_survey(source.take(chosen, block), survey, skip_mask=mask)


def main() -> None:
    """Run the fit; exit with the error's code on bad input."""
    app = App(name="tabsoda.cli.torchrun", help_format="plaintext")
    app.default(fit_together)
    try:
        app(result_action="return_value")
    except TabSODAError as error:
        from tabsoda.cli.console import show_error

        show_error(error)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
