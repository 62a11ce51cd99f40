"""``TabSODAImputer``: a scikit-learn compatible imputer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tabsoda._internal.randomness import row_keys
from tabsoda.coding.model_folder import TENSORS, TEXT
from tabsoda.coding.table_checks import log_empty_rows
from tabsoda.edits.checking import refuse_contradictions
from tabsoda.edits.derived_columns import names_in_file, skip_derived
from tabsoda.edits.edit_set import EditSet
from tabsoda.engines import (
    QUALITIES,
    AnySettings,
    Engine,
    fit_engine,
    load_engine,
    settings_for,
    with_interactions,
)
from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.imputer.design_predictors import DesignPredictors, without_design
from tabsoda.imputer.edited_draws import EditedDraws
from tabsoda.imputer.files import ImputerState
from tabsoda.imputer.input import read_input, unmasked
from tabsoda.imputer.parameters import (
    check_choices,
    check_parameters,
    check_terms,
    checked_seed,
    mined_survey,
    read_rules,
)
from tabsoda.imputer.run_identity import run_record
from tabsoda.imputer.sklearn_interface import SklearnImputer
from tabsoda.progress import Progress
from tabsoda.results.imputations import Imputations
from tabsoda.routing.policy import Gates
from tabsoda.routing.route_model import RouteModels
from tabsoda.schema.schema import Schema
from tabsoda.skips.review_policy import (
    ACCEPTED,
    FROM_MODEL,
    apply_rules,
)
from tabsoda.survey import InputFile, Survey


class TabSODAImputer(SklearnImputer):
    """Imputes missing answers of a survey, and leaves skipped questions alone.

    The paper's variants, each with ``preset="path"`` or ``"nsduh"`` and ``gate_policy="keep"``:
    TabSODA is a skip mask (or skip codes, or rules); TabSODA+SKIP is ``skips="mine"`` with
    ``screen="paper"``; TabSODA-N is ``settings={"encoding": {"ordinal": "bits"}}``.

    Parameters
    ----------
    quality : {"fast", "balanced", "best", "tiny"}
        How much time to spend; the documentation compares accuracy and time.
        ``"tiny"`` is for tests and first tries: it takes a second or so, and its estimates are
        poor.
    preset : str, optional
        Use the engine of the paper instead of a quality: ``"path"`` and ``"nsduh"`` have the
        settings of the paper, ``"small"`` has a smaller network for a laptop.
    settings : dict of dict, optional
        Changes to the quality or preset, such as ``{"training": {"max_steps": 500}}``; see
        :class:`tabsoda.EngineSettings`, and :class:`tabsoda.PaperSettings` for the presets.
    description : Schema, path, list of dict, optional
        The meaning of the columns; guessed from the data if not given. The columns of a plain
        array are continuous.
    skips : {"given", "mine"}
        Use the skips given by codes, mask or rules; or mine the rules first.
    screen : {"purity", "paper"}, optional
        How mined rules are screened (:class:`tabsoda.SkipMiner`); ``"purity"`` if not given.
    miner : str, optional
        A preset of the miner's settings (:class:`tabsoda.MinerSettings`), such as ``"nsduh-200"``.
    rules : RuleSet or path, optional
        Routing rules to apply, also to new rows, or their file. Unreviewed rules are refused.
    accept_unreviewed : bool
        Apply rules without a review (``--accept-all`` on the command line); an event names them.
        Mined rules are never reviewed: ``skips="mine"`` needs no acceptance, but records the same
        event.
    gate_policy : {"follow", "keep"}
        How to treat questions that depend on a missing answer (a gate), where rules are known.
        "follow": each draw imputes the gate first, then skips or imputes the questions that
        depend on it. "keep": every missing cell is imputed, as in the paper.
    edit_policy : {"missing", "unconstrained"}
        What to do with cells for which no value satisfies the edits of the description: leave
        them missing, or impute them all the same. Both are counted.
    interactions : bool or list of str
        Products and curves in the regressions that draws come from. True: those that the answers
        show. False: straight lines. A list of terms that the analysis will need, such as
        ``["AGE:SEX", "AGE:AGE"]`` (the second is a curve): these too, in the regression of every
        other question, whether or not the answers show them. A term has two or three questions.
    use_design : bool
        Let the default engine see weights, strata and clusters, where the description gives their
        roles: as predictors, and for questions whose answers differ between clusters the cluster's
        mean. Files without such columns are imputed the same either way.
    n_imputations : int
        Default number of draws of :meth:`impute`.
    random_state : int
        The same number gives the same imputations, independent of the order of the rows and of
        the size of the blocks they are computed in.
    device : str
        ``"auto"``, ``"cpu"`` or ``"cuda"``.

    Attributes
    ----------
    engine_ : DefaultEngine or PaperEngine
    schema_ : Schema or None
        None for plain arrays.
    rules_ : RuleSet or None
    design_ : DesignPredictors or None
        What the model sees of the sampling design.
    routes_ : RouteModels or None
        Models of the routes at each gate; None without rules or with ``"keep"``.
    edits_ : EditSet
        Bounds, edits and derived variables of the description.
    settings_ : dict
        All settings of the fit.
    history_ : list of dict
    events_ : EventLog
    files_ : dict of str to InputFile
        The rules file, or the files of the model that was loaded.

    Notes
    -----
    Skipped cells, and columns that nobody answered, stay empty in the output of
    :meth:`transform`, so it may contain NaN. The point estimates of :meth:`transform` vary too
    little for standard errors; use the draws of :meth:`impute`.

    Examples
    --------
    >>> import numpy as np
    >>> generator = np.random.default_rng(0)
    >>> X = generator.normal(size=(200, 1)) + 0.1 * generator.normal(size=(200, 3))
    >>> X[:20, 1] = np.nan
    >>> imputer = TabSODAImputer(settings={"training": {"max_steps": 20}}, random_state=1)
    >>> bool(np.isnan(imputer.fit_transform(X)).any())
    False
    >>> len(imputer.impute(X, m=2))
    2
    """

    def __init__(
        self,
        *,
        quality: str = "balanced",
        preset: str | None = None,
        settings: dict[str, dict[str, Any]] | None = None,
        description: Any = None,
        skips: str = "given",
        screen: str | None = None,
        miner: str | None = None,
        rules: Any = None,
        accept_unreviewed: bool = False,
        gate_policy: str = "follow",
        edit_policy: str = "missing",
        interactions: bool | Sequence[str | Sequence[str]] = True,
        use_design: bool = True,
        n_imputations: int = 5,
        random_state: int = 0,
        device: str = "auto",
    ) -> None:
        self.quality = quality
        self.preset = preset
        self.settings = settings
        self.description = description
        self.skips = skips
        self.screen = screen
        self.miner = miner
        self.rules = rules
        self.accept_unreviewed = accept_unreviewed
        self.gate_policy = gate_policy
        self.edit_policy = edit_policy
        self.interactions = interactions
        self.use_design = use_design
        self.n_imputations = n_imputations
        self.random_state = random_state
        self.device = device

    def fit(
        self,
        X: Any,
        y: None = None,
        *,
        skip_mask: Any = None,
        sample_weight: Any = None,
        checkpoint: str | Path | None = None,
        progress: Progress | None = None,
    ) -> TabSODAImputer:
        """Fit the model to a survey.

        Parameters
        ----------
        X : array, frame, path or Survey, n_rows x n_columns
        y : None
            Ignored.
        skip_mask : array, frame or path of bool, optional
            True where a question was not applicable.
        sample_weight : array, shape (n_rows,), optional
            Weights of the rows in the loss.
        checkpoint : path, optional
            Folder for finished parts of the fit: the same call continues from there.
        progress : callable, optional
            Called as ``progress(done, total, what)`` while the fit runs.
        """
        started = time.perf_counter()
        given = check_parameters(self)
        X = unmasked(X)
        is_named = self._validate(X, reset=True)
        survey = read_input(X, self.description, skip_mask)
        check_terms(self.interactions, survey)
        survey = self._under_rules(survey, given.rules, progress)
        if not is_named and not survey.is_array:
            self._take_names(names_in_file(survey))
        self.rules_ = survey.rules if self.skips == "mine" else given.rules
        self.files_, self._rules_from_model = given.files, False
        known = EventLog()
        self.design_ = None
        if self.use_design and self.preset is None:
            self.design_ = DesignPredictors.fit(survey, known)
        if self.design_ is not None:
            # The engine does not see that a row has only its design.
            log_empty_rows(survey.table, known)
        seen = self.as_modelled(survey)
        self.engine_ = fit_engine(
            seen.table,
            self.settings_for(*seen.table.shape),
            seed=checked_seed(self.random_state),
            device=self.device,
            row_weights=sample_weight,
            checkpoint=None if checkpoint is None else Path(checkpoint),
            interactions=self.interactions,
            progress=progress,
        )
        self.routes_ = None
        if self.rules_ is not None and self.gate_policy == "follow":
            self.routes_ = RouteModels.fit(seen.table, self.rules_)
        self.schema_ = None if survey.is_array else survey.schema
        self.edits_ = EditSet.of(survey.schema, survey.table)
        self.settings_ = self.engine_.settings.to_dict()
        self.history_ = self.engine_.history
        self.events_ = EventLog([*survey.events, *known, *self.engine_.events])
        self._fit_seconds = time.perf_counter() - started
        return self

    def fit_transform(self, X: Any, y: None = None, *, skip_mask: Any = None, **fit: Any) -> Any:
        """Fit the model to a survey, and return the survey with missing cells filled.

        Parameters
        ----------
        X, y, skip_mask
            As in :meth:`fit`; the mask is used for both steps.
        **fit
            ``sample_weight``, ``checkpoint`` and ``progress`` of :meth:`fit`.
        """
        return self.fit(X, y, skip_mask=skip_mask, **fit).transform(X, skip_mask=skip_mask)

    def transform(self, X: Any, *, skip_mask: Any = None) -> Any:
        """Return the table with missing cells filled by ``point("mode")`` of the result.

        Parameters
        ----------
        X : array, frame, path or Survey
            Old or new rows of the columns that were fitted.
        skip_mask : array, frame or path of bool, optional

        Returns
        -------
        The same kind of table as ``X``, or the kind chosen with :meth:`set_output`
        """
        return self._as_output(self.impute(X, m=0, skip_mask=skip_mask).point())

    def impute(
        self,
        X: Any,
        m: int | None = None,
        *,
        skip_mask: Any = None,
        checkpoint: str | Path | None = None,
        progress: Progress | None = None,
    ) -> Imputations:
        """Draw the missing cells ``m`` times, and compute point estimates.

        Parameters
        ----------
        X : array, frame, path or Survey
            Old or new rows; nothing is fitted again.
        m : int, optional
            Number of draws; ``n_imputations`` by default.
        skip_mask, progress
            As in :meth:`fit`.
        checkpoint : path, optional
            Folder for finished draws: the same call does not repeat them.
        """
        check_is_fitted(self)
        X = unmasked(X)
        self._validate(X, reset=False)
        survey = self._under_own_rules(read_input(X, self.schema_, skip_mask))
        return self.impute_survey(survey, m, checkpoint=checkpoint, progress=progress)

    def impute_survey(
        self,
        survey: Survey,
        m: int | None = None,
        *,
        occurrences: NDArray[np.int64] | None = None,
        checkpoint: str | Path | None = None,
        progress: Progress | None = None,
    ) -> Imputations:
        """Impute a survey that :meth:`prepare` returned.

        Parameters
        ----------
        survey : Survey
        m, checkpoint, progress
            As in :meth:`impute`.
        occurrences : ndarray of int64, shape (n_rows,), optional
            How many equal rows come before each row, if these rows are part of a larger table.
            Draws of equal rows differ by this number.
        """
        n_draws = self.n_imputations if m is None else m
        if not isinstance(n_draws, int | np.integer) or n_draws < 0:
            raise InputError(
                "The number of imputations is invalid", found=repr(n_draws), expected="0 or more"
            )
        check_choices(self)
        started = time.perf_counter()
        run = run_record(self, survey, int(n_draws), 0.0)
        decided, gates = EventLog(), Gates(self.gate_policy, self.rules_, self.routes_)
        n_questions = survey.table.shape[1]
        if self.design_ is not None:
            log_empty_rows(survey.table, decided)
        survey, cells, routing = gates.impute(
            self.engine_,
            self.as_modelled(survey),
            int(n_draws),
            progress,
            decided,
            checkpoint=checkpoint,
            occurrences=occurrences,
        )
        edited = None
        if self.edits_:
            keys = row_keys(survey.table.values, survey.states.states, occurrences)
            rules = self.rules_ if self.gate_policy == "follow" else None
            draws = EditedDraws(
                self.edits_, self.engine_, survey.table, keys, rules, self.edit_policy
            )
            cells, edited = draws.apply(cells, decided)
        if self.design_ is not None:
            survey = without_design(survey, n_questions)
        return Imputations(
            survey.table,
            cells,
            None if survey.is_array else survey.without_rules(),
            survey.original,
            self.settings_,
            self.history_,
            # The fitted table's events may also be in the survey's; they are listed once.
            EventLog(list(dict.fromkeys([*self.events_, *survey.events, *decided]))),
            routing,
            replace(run, seconds=self._fit_seconds + time.perf_counter() - started),
            edited,
        )

    def prepare(self, X: Any, *, skip_mask: Any = None, progress: Progress | None = None) -> Survey:
        """Read a table and determine the state of every cell, as :meth:`fit` and :meth:`impute` do.

        Pass the returned survey to both, so that this is not repeated.

        Parameters
        ----------
        X : array, frame, path or Survey
        skip_mask, progress
            As in :meth:`fit`. Before the fit, this mines the rules if ``skips="mine"``.
        """
        if hasattr(self, "engine_"):
            return self._under_own_rules(read_input(X, self.schema_, skip_mask))
        rules = check_parameters(self).rules
        survey = read_input(X, self.description, skip_mask)
        check_terms(self.interactions, survey)
        return self._under_rules(survey, rules, progress)

    def as_modelled(self, survey: Survey) -> Survey:
        """Return a survey as the fitted model sees it: with predictors of its sampling design.

        Parameters
        ----------
        survey : Survey
            As :meth:`prepare` returns it. The predictors are columns after its questions.
        """
        return survey if self.design_ is None else self.design_.extend(survey)

    def use_rules(self, rules: Any, *, accept_unreviewed: bool = False) -> TabSODAImputer:
        """Use other rules for imputing from now on, without refitting.

        Parameters
        ----------
        rules : RuleSet or path
        accept_unreviewed : bool
            As the parameter of the imputer.
        """
        check_is_fitted(self)
        given = read_rules(rules, accepted=accept_unreviewed)
        self.rules_, self._rules_from_model = given.rules, False
        self.files_ = self.files_ | given.files
        return self

    def _under_rules(self, survey: Survey, rules: Any, progress: Progress | None) -> Survey:
        """Apply rules before a fit, or mine them; refuse edits that contradict them or the data."""
        if self.skips == "mine":
            survey = mined_survey(survey, self.screen, self.miner, progress)
        elif rules is not None:
            survey = apply_rules(survey, rules)
        survey = skip_derived(survey)
        refuse_contradictions(EditSet.of(survey.schema, survey.table), survey.table, survey.rules)
        return survey

    def _under_own_rules(self, survey: Survey) -> Survey:
        """Apply the rules of the fitted model."""
        if self.rules_ is not None:
            why = FROM_MODEL if self._rules_from_model else ACCEPTED
            survey = apply_rules(survey, self.rules_, why)
        return skip_derived(survey)

    def save(self, folder: str | Path) -> None:
        """Write the fitted model to a folder of safetensors and JSON."""
        check_is_fitted(self)
        self.engine_.save(Path(folder))
        ImputerState.of(self).save(Path(folder))

    @classmethod
    def load(cls, folder: str | Path, device: str = "auto") -> TabSODAImputer:
        """Read a model that :meth:`save` wrote; no code in it is executed.

        Its parameters are set such that a new fit gives the same model.
        """
        place = Path(folder)
        engine, state = load_engine(place, device), ImputerState.load(place)
        imputer = cls(**state.parameters(engine), device=device)
        imputer._take_fit(engine, state)
        files = {"model": TEXT, "model_tensors": TENSORS}
        imputer.files_ = {what: InputFile.of(place / name) for what, name in files.items()}
        imputer._rules_from_model = True
        return imputer

    def resume(self, folder: str | Path) -> TabSODAImputer:
        """Load the fit that an imputer with the same parameters saved.

        Parameters
        ----------
        folder : path
            As :meth:`save` wrote it.
        """
        given = check_parameters(self)
        self._take_fit(load_engine(Path(folder), self.device), ImputerState.load(Path(folder)))
        self.files_, self._rules_from_model = given.files, False
        return self

    def _take_fit(self, engine: Engine, state: ImputerState) -> None:
        self.engine_, self.schema_, self.routes_ = engine, state.schema, state.routes
        self.rules_, self.design_ = state.rules, state.design
        self.edits_ = state.edits
        self.n_features_in_ = state.n_features
        if state.feature_names is not None:
            self._take_names(state.feature_names)
        self.settings_ = engine.settings.to_dict()
        self.history_, self.events_ = engine.history, engine.events
        self._fit_seconds = 0.0

    def settings_for(self, n_rows: int, n_columns: int) -> AnySettings:
        """Return the settings for a table of this size; raise if they are invalid."""
        if self.quality not in QUALITIES:
            raise InputError(
                "The parameter quality has an unknown value",
                found=repr(self.quality),
                expected=f"one of {', '.join(map(repr, QUALITIES))}",
            )
        settings = settings_for(self.preset or self.quality, n_rows, n_columns, self.settings)
        return with_interactions(settings, self.interactions)

    @property
    def schema(self) -> Schema | None:
        """The description that was used; None for plain arrays."""
        check_is_fitted(self)
        return self.schema_
