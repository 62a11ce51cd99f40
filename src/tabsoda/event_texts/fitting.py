"""Events of preparing columns for a model and of fitting it."""

from __future__ import annotations

from tabsoda.event_texts.template import EventText

_ENCODE: dict[str, EventText] = {
    "constant_column_not_modelled": EventText(
        "encode",
        "constant column not modelled",
        "the only visible answer is {answer}; missing cells get it",
    ),
    "skipped_column_not_modelled": EventText(
        "encode", "column not modelled: every cell is skipped"
    ),
    "held_out_column_not_modelled": EventText(
        "encode", "column not modelled: every answer is held out", "missing cells stay missing"
    ),
    "blank_column_not_modelled": EventText(
        "encode", "column not modelled: no cell is answered", "missing cells stay missing"
    ),
    "nominal_nearly_unique": EventText(
        "encode",
        "nominal column is nearly unique",
        "{different:different answer/different answers} among {answers}; it is modelled"
        " nevertheless",
    ),
    "whole_numbers_kept_whole": EventText("encode", "whole numbers kept whole"),
    "all_ordinals_encoded_as_bits": EventText(
        "encode",
        "all ordinals encoded as bits",
        "{columns:column/columns}; the setting encoding.ordinal is 'bits'",
    ),
    "ordinal_encoded_as_bits": EventText(
        "encode",
        "ordinal encoded as bits",
        "{share:.1%} of its visible answers are one level; the limit is {limit:.0%}",
    ),
    "constant_column_not_rescaled": EventText(
        "encode",
        "constant column not rescaled",
        "coordinate {coordinate} is {value} in all rows that are used",
    ),
}

_COMPUTE: dict[str, EventText] = {
    "device_chosen": EventText("train", "device chosen", "{device}"),
    "training_threads_chosen": EventText(
        "train",
        "threads chosen for training",
        "{threads} for the network, {cores:core/cores} granted",
    ),
    "torch_limited_to_one_thread": EventText(
        "train",
        "torch limited to one thread",
        "torch was imported before tabsoda, so that further threads would keep cores busy while"
        " they wait",
    ),
    "batches_shared_between_processes": EventText(
        "train", "batches shared between processes", "{processes:process/processes}"
    ),
    "training_step_not_captured": EventText(
        "train", "training runs in a slower way", "not {way}: {error}, {message}"
    ),
    "fitted_on_sample": EventText(
        "train",
        "fitted on a sample of the rows",
        "{rows} of {of_rows:row/rows}, chosen by their content",
    ),
}

_RESUME: dict[str, EventText] = {
    "training_resumed_after_network": EventText(
        "train", "training resumed", "the network of an earlier start is used"
    ),
    "training_resumed_after_round": EventText("train", "training resumed", "after round {round}"),
    "fitted_model_reused": EventText(
        "train", "fitted model of an earlier start used", "saved by tabsoda {version}"
    ),
    "saved_model_not_used": EventText(
        "train", "saved model of an earlier start not used", "{message}"
    ),
    "unreadable_network_not_used": EventText(
        "train", "saved network of an earlier start not used", "its file cannot be read"
    ),
    "network_of_other_run_not_used": EventText(
        "train",
        "saved network of an earlier start not used",
        "it belongs to another table, other settings or another seed",
    ),
    "unreadable_round_not_used": EventText(
        "train", "rounds of an earlier start not used", "their file cannot be read"
    ),
    "round_of_other_run_not_used": EventText(
        "train",
        "rounds of an earlier start not used",
        "they belong to another table, other settings or another seed",
    ),
}

_TRAIN: dict[str, EventText] = {
    "nothing_to_train": EventText(
        "train", "nothing to train", "no column has two different answers"
    ),
    "training_loss_watched": EventText(
        "train",
        "training stops by the training loss",
        "no answer could be held out",
    ),
    "training_stopped_early": EventText(
        "train",
        "training stopped early",
        "after round {round}, which moved imputed values by {change:.2g}",
    ),
    "temperature_chosen": EventText(
        "train",
        "temperature chosen",
        "{temperature}: {right} of {cells:held-out answer/held-out answers} right",
    ),
    "temperature_not_tuned": EventText(
        "train", "temperature not tuned", "no held-out answer; {temperature} is used"
    ),
    "gate_estimated_without_followers": EventText(
        "train",
        "gate estimated without its followers",
        "where it is missing, so are they, whether or not they were asked",
    ),
    "trees_fitted_after_network": EventText(
        "train",
        "trees fitted after the network",
        "they could not run in a separate process: {error}",
    ),
    "trees_predict_one_answer": EventText(
        "train",
        "boosted trees predict the same answer for everyone",
        "{answers:answer/answers}; too few, or other questions do not predict them",
    ),
    "regressions_fitted_to_sample": EventText(
        "train",
        "regressions fitted to a sample of the rows",
        "{rows} of {of_rows:row/rows}; more would change little",
    ),
    "many_levels_not_regressed": EventText(
        "train",
        "column not regressed: too many levels",
        "{levels:level/levels}; the network alone draws it",
    ),
    "few_answers_not_regressed": EventText(
        "train",
        "column not regressed: too few answers",
        "{answers:answer/answers}; the network alone draws it",
    ),
    "regression_not_converged": EventText(
        "train",
        "regression stopped before its solver converged",
        "its last coefficients are used; fewer levels or fewer requested terms would help",
    ),
    "draw_regressions_not_fitted": EventText(
        "train",
        "no regressions for draws",
        "draws were not requested; any would come from the network alone",
    ),
    "interaction_requested": EventText(
        "train",
        "product in the regressions for draws, as requested",
        "{questions:product}",
    ),
    "design_in_model": EventText(
        "train",
        "sampling design used as predictors",
        "[, weights: {weights}][, strata: {strata}][, clusters: {clusters} (means of {questions})]",
    ),
    "interaction_in_draws": EventText(
        "train",
        "product or curve added to the regression for draws",
        "{questions:product}",
    ),
    "requested_interaction_left_out": EventText(
        "train",
        "requested product left out: a question is not modelled",
        "{questions:product}",
    ),
    "predictor_blended_in": EventText(
        "train",
        "predictor blended in",
        "average share of the {predictor}[, {nominals:.2f} in nominals]"
        "[, {ordinals:.2f} in ordinals][, {numbers:.2f} in numbers]",
    ),
}

FITTING = _ENCODE | _COMPUTE | _RESUME | _TRAIN
