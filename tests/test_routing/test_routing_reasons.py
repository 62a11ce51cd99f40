"""Gates that were refused: whether a follower was asked says nothing of the answer."""

import numpy as np
import polars as pl
import pytest
from questionnaires import tiny_engine

from tabsoda import RuleSet, TabSODAImputer
from tabsoda.events import EventLog
from tabsoda.routing.following import GateFollowingImputer
from tabsoda.routing.reasons import ReasonRouting
from tabsoda.routing.route_model import RouteModels
from tabsoda.routing.unresolved import reopened
from tabsoda.schema.column import Column, ColumnKind, Reason
from tabsoda.skips.rules import Condition, SkipRule
from tabsoda.states.cell_states import CellStates, reason_code
from tabsoda.table import CodedTable

N, REFUSERS, OWNERS = 1000, 280, 0.32
YES, NO, SKIP = 1, 2, -1
CODES = {Reason.REFUSED: -7, Reason.DONT_KNOW: -8}
DESCRIPTION = [
    {"name": "region", "type": "nominal", "levels": [1, 2, 3, 4]},
    {
        "name": "owner",
        "type": "nominal",
        "levels": [YES, NO],
        "refused_codes": [-7],
        "dont_know_codes": [-8],
    },
    {"name": "why_not", "type": "nominal", "levels": [1, 2, 3], "skip_codes": [SKIP]},
]


def _owners(reason, *, asked, coded):
    """ "Why not" is asked after "no", and after a refusal if ``asked``; skips may be coded."""
    rng = np.random.default_rng(0)
    owner = np.where(rng.random(N) < OWNERS, YES, NO)
    declined = np.arange(N) < REFUSERS
    owner[declined] = CODES[reason]
    answers = rng.integers(1, 4, N)
    skipped = (owner == YES) | (declined & (not asked))
    columns = {"region": rng.integers(1, 5, N), "owner": owner, "why_not": answers}
    frame = pl.DataFrame(columns)
    past = pl.Series(skipped)
    why_not = pl.when(past).then(SKIP if coded else None).otherwise(pl.col("why_not"))
    return frame.with_columns(why_not.alias("why_not")), answers


def _rules(reasons):
    columns = (
        Column("owner", ColumnKind.NOMINAL, (YES, NO)),
        Column("why_not", ColumnKind.NOMINAL, (1, 2, 3)),
    )
    condition = Condition("owner", (YES,), reasons=reasons)
    return RuleSet((SkipRule("r1", "why_not", ((condition,),)),), columns).approve()


@pytest.mark.parametrize(
    ("reason", "asked", "coded", "mined"),
    [
        (Reason.REFUSED, True, False, False),
        (Reason.DONT_KNOW, False, True, True),
    ],
)
def test_refusers_are_owners_as_often_as_others(reason, asked, coded, mined):
    _shares_agree(reason, asked, coded, mined)


@pytest.mark.slow
@pytest.mark.parametrize("mined", [False, True])
@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("reason", list(CODES))
def test_refusers_are_owners_as_often_as_others_in_every_way(reason, asked, coded, mined):
    _shares_agree(reason, asked, coded, mined)


def _shares_agree(reason, asked, coded, mined):
    frame, answers = _owners(reason, asked=asked, coded=coded)
    rules = None if mined else _rules(() if asked else (reason,))
    imputer = TabSODAImputer(
        quality="tiny",
        description=DESCRIPTION,
        rules=rules,
        skips="mine" if mined else "given",
        device="cpu",
    )
    result = imputer.fit(frame).impute(frame, m=10)
    others = frame["owner"].to_numpy()[REFUSERS:] == YES
    drawn = np.array([result.values(k)[:REFUSERS, 1] == 0 for k in range(1, 11)])
    error = 3.5 * np.sqrt(OWNERS * (1 - OWNERS) * (1 / others.size + 1 / drawn.size))
    assert abs(drawn.mean() - others.mean()) < error
    for k in range(1, 11):
        values, owns = result.values(k), drawn[k - 1]
        follower = values[:REFUSERS, 2]
        if asked:
            assert np.array_equal(follower, answers[:REFUSERS] - 1)
        elif coded:
            # The file's own code says that it was not asked.
            assert np.isnan(follower).all()
        else:
            assert np.array_equal(np.isnan(follower), owns)
        assert np.array_equal(values[REFUSERS:, 1] == 0, others)
    (rule,) = imputer.rules_ if mined else rules
    assert result.routing.counts.get((rule.identifier, "kept"), 0) == drawn.sum() * asked
    assert result.routing.n_left_missing == 0


ANSWERS = (1, 2)


def _table(names, values, reasons, known=None):
    """A table of yes/no questions; ``reasons`` as codes, 0 where none is given."""
    columns = tuple(Column(name, ColumnKind.NOMINAL, ANSWERS) for name in names)
    known = np.zeros(values.shape, dtype=bool) if known is None else known
    states = CellStates.from_masks(~np.isnan(values), known, tuple(names), reasons)
    return CodedTable(columns, values, states)


def _followed(table, rules, n_draws=4):
    """Impute; return the draws as whole tables, the record and the routing events."""
    known = table.states.skipped
    marked = table.with_states(rules.apply(table))
    engine = tiny_engine(marked)
    models = RouteModels.fit(marked, rules)
    marked = reopened(marked, rules, engine.model.codec.fillable, known)
    events = EventLog()
    cells, record = GateFollowingImputer(engine, rules, models).impute(
        marked, n_draws, events=events
    )
    draws = np.repeat(table.values[None], n_draws, axis=0)
    draws[:, cells.rows, cells.positions] = cells.draws
    return draws, record, {e.kind: e for e in events}


def _gate_and_followers(n_followers=1, n=400):
    """Everybody who says 2 to the gate skips the followers; the first 100 refused the gate."""
    values = np.random.default_rng(1).integers(2, size=(n, 1 + n_followers)).astype(float)
    reasons = np.zeros(values.shape, dtype=np.uint8)
    reasons[:100, 0] = reason_code(Reason.REFUSED)
    values[:100, 0] = np.nan
    values[values[:, 0] == 1, 1:] = np.nan
    return values, reasons


def _rule(target, *gates, levels=(2,)):
    return SkipRule(f"r{target}", target, tuple((Condition(gate, levels),) for gate in gates))


def test_where_some_refusers_were_asked_and_others_not_the_answer_shows():
    values, reasons = _gate_and_followers()
    values[:50, 1] = np.nan
    table = _table("ab", values, reasons)
    rules = RuleSet((_rule("b", "a"),), table.columns)
    assert RouteModels.fit(table, rules).reasons.by_answer.tolist() == [[0, 1, reasons[0, 0]]]
    draws, record, events = _followed(table, rules)
    assert (draws[:, 50:100, 0] == 0).all()
    assert 0 < (draws[:, :50, 0] == 1).mean() < 1
    assert record.total("kept") == 0
    event = events["gate_drawn_to_fit_followers"]
    counts = {"respondents": 100, "reason": "refused", "followers": ("b",)}
    assert (event.column, dict(event.counts)) == ("a", counts)


def test_a_follower_refused_after_its_gate_is_skipped_or_imputed_as_the_gate_is_drawn():
    values, reasons = _gate_and_followers(2)
    values[:40, 1] = np.nan
    reasons[:40, 1] = reason_code(Reason.REFUSED)
    table = _table("abc", values, reasons)
    rules = RuleSet((_rule("b", "a"), _rule("c", "a")), table.columns)
    draws, record, events = _followed(table, rules)
    drawn_past = draws[:, :100, 0] == 1
    assert 0.2 < drawn_past.mean() < 0.8
    assert np.array_equal(np.isnan(draws[:, :40, 1]), drawn_past[:, :40])
    assert np.array_equal(draws[:, 40:100, 1], np.repeat(values[None, 40:100, 1], 4, axis=0))
    assert record.counts["rb", "kept"] == drawn_past[:, 40:].sum()
    assert record.counts["rc", "kept"] == drawn_past.sum()
    assert record.counts["rb", "skipped"] == drawn_past[:, :40].sum() == sum(record.skipped)
    event = events["gate_drawn_regardless_of_followers"]
    counts = {"respondents": 100, "reason": "refused", "followers": ("b", "c")}
    assert (event.column, dict(event.counts)) == ("a", counts)


def test_what_was_asked_after_a_refusal_still_binds_the_other_gates():
    """c is led past by a, which was refused, and by b, which is blank: b must lead there."""
    values, reasons = _gate_and_followers(2)
    values[:, 1] = np.random.default_rng(2).integers(2, size=400)
    values[values[:, 1] == 1, 2] = np.nan
    values[:100, 1:] = [np.nan, 0.0]
    table = _table("abc", values, reasons)
    rules = RuleSet((SkipRule("r1", "c", _rule("c", "a").any_of), _rule("c", "b")), table.columns)
    draws, record, _ = _followed(table, rules)
    assert 0.2 < (draws[:, :100, 0] == 1).mean() < 0.8
    assert (draws[:, :100, 1] == 0).all()
    assert ("rc", "kept") not in record.counts
    assert record.n_left_missing == 0


def test_an_amount_is_imputed_although_its_brackets_were_asked_instead():
    """Whoever gives an amount skips the bracket; whoever refuses is asked for it."""
    rng = np.random.default_rng(0)
    amount, bracket = rng.integers(4, size=300).astype(float), np.full(300, np.nan)
    amount[:60], bracket[:60] = np.nan, rng.integers(2, size=60)
    columns = (
        Column("amount", ColumnKind.ORDINAL, (10, 20, 30, 40)),
        Column("bracket", ColumnKind.NOMINAL, ANSWERS),
    )
    table = CodedTable.from_values(columns, np.column_stack([amount, bracket]))
    rules = RuleSet((_rule("bracket", "amount", levels=(10, 20, 30, 40)),), columns)
    # A blank amount is left missing, because no amount fits; a refused one is not.
    _, record, _ = _followed(table, rules, 2)
    assert record.n_left_missing == 60
    reasons = table.states.reasons.copy()
    reasons[:60, 0] = reason_code(Reason.REFUSED)
    states = CellStates.from_masks(
        table.states.answered, table.states.skipped, table.names, reasons
    )
    draws, record, _ = _followed(table.with_states(states), rules, 2)
    assert record.n_left_missing == 0
    assert np.isfinite(draws[:, :60, 0]).all()
    assert np.array_equal(draws[0, :60, 1], bracket[:60])
    assert record.counts == {("rbracket", "kept"): 120}


@pytest.mark.parametrize(
    ("n_asked", "n_others_asked", "by_answer"),
    [(100, 100, False), (97, 100, False), (80, 100, True), (80, 80, False), (3, 100, False)],
)
def test_followers_are_compared_with_those_whom_nothing_leads_past(
    n_asked, n_others_asked, by_answer
):
    """100 refusers and 100 others, of whom some were asked and others blank."""
    values = np.zeros((200, 2))
    values[:100, 0] = np.nan
    values[n_asked:100, 1] = np.nan
    values[100 + n_others_asked :, 1] = np.nan
    reasons = np.zeros(values.shape, dtype=np.uint8)
    reasons[:100, 0] = reason_code(Reason.DONT_KNOW)
    table = _table("ab", values, reasons)
    models = RouteModels.fit(table, RuleSet((_rule("b", "a"),), table.columns))
    assert (models.reasons.by_answer.size > 0) == by_answer


def test_a_saved_model_knows_who_was_routed_by_the_answer(tmp_path):
    values, reasons = _gate_and_followers()
    values[:50, 1] = np.nan
    table = _table("ab", values, reasons)
    models = RouteModels.fit(table, RuleSet((_rule("b", "a"),), table.columns))
    models.save(tmp_path / "routes.safetensors")
    again = RouteModels.load(tmp_path / "routes.safetensors")
    assert np.array_equal(again.reasons.by_answer, models.reasons.by_answer)
    assert not again.reasons.uninformative(table.states, 0, [1]).any()
    assert ReasonRouting().uninformative(table.states, 0, [1]).sum() == 100
