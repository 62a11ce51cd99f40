"""The policy as users meet it: parameter, tables that come back, model files, command line."""

import json

import numpy as np
import polars as pl
import pytest
from questionnaires import tiny_engine

from tabsoda import TabSODAImputer, read_survey
from tabsoda.cli.main import main
from tabsoda.datasets import make_survey
from tabsoda.errors import InputError
from tabsoda.event_texts import stage
from tabsoda.results.result_folder import load_result
from tabsoda.routing import RoutingRecord
from tabsoda.routing.route_model import RouteModels
from tabsoda.schema.column import Column, ColumnKind, Reason
from tabsoda.skips.checking import check
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.rules import Condition, RuleStatus, SkipRule


@pytest.fixture(scope="module")
def survey():
    return make_survey(250, seed=11, n_columns=40, nonresponse=0.08)


@pytest.fixture(scope="module")
def imputer(survey):
    made = TabSODAImputer(
        quality="tiny", description=survey.schema(), rules=survey.rules, device="cpu"
    )
    return made.fit(survey.to_frame())


@pytest.fixture(scope="module")
def result(imputer, survey):
    return imputer.impute(survey.to_frame(), m=3)


def _checked(frame, survey):
    return check(read_survey(frame, survey.schema()).table, survey.rules)


def test_completed_files_pass_the_check_as_well_as_the_observed_one(result, survey):
    before = _checked(survey.to_frame(), survey).n_answered_although_skipped
    for table in (*result, result.point(), result.point("median")):
        found = _checked(table, survey)
        assert found.n_answered_although_skipped <= before
        assert found.totals["unexplained"] == 0
    assert result.routing.mean_skipped > 0


def test_a_draw_says_what_it_skips(result):
    for number in (1, 2, 3):
        values, skipped = result.values(number), result.skipped_in(number)
        assert np.array_equal(skipped, np.isnan(values))
        newly = skipped & ~result.table.states.skipped
        assert newly.sum() == result.routing.skipped[number - 1]


def test_keep_imputes_every_missing_cell_as_the_engine_does_alone(survey, imputer):
    keeper = TabSODAImputer(
        quality="tiny",
        description=survey.schema(),
        rules=survey.rules,
        gate_policy="keep",
        device="cpu",
    ).fit(survey.to_frame())
    kept = keeper.impute(survey.to_frame(), m=2)
    seen = keeper.as_modelled(kept.survey).table
    plain = keeper.engine_.impute(seen, 2)
    assert np.array_equal(kept.cells.draws, plain.draws)
    assert np.array_equal(kept.cells.mode, plain.mode)
    assert keeper.routes_ is None
    assert (kept.routing.policy, kept.routing.skipped) == ("keep", ())
    assert kept.routing.followers > 0
    # The policy has no part in what is learned.
    again = imputer.engine_.impute(seen, 2)
    assert np.array_equal(again.draws, plain.draws)


def test_a_saved_imputer_follows_the_same_routes(imputer, result, survey, tmp_path):
    imputer.save(tmp_path)
    loaded = TabSODAImputer.load(tmp_path, device="cpu")
    again = loaded.impute(survey.to_frame(), m=3)
    assert np.array_equal(again.cells.draws, result.cells.draws, equal_nan=True)
    assert again.routing == result.routing
    # New rows alone get what they got among the others: routes are not learned from them.
    few = survey.to_frame().head(9)
    alone = loaded.impute(few, m=1)
    cells = result.cells.rows < 9
    np.testing.assert_allclose(alone.cells.draws[0], result.cells.draws[0, cells], rtol=1e-4)


def test_a_broken_routes_file_is_refused(imputer, tmp_path):
    imputer.save(tmp_path)
    (tmp_path / "routes.safetensors").write_bytes(b"nonsense")
    with pytest.raises(InputError, match=r"routes\.safetensors' was changed"):
        TabSODAImputer.load(tmp_path)


def test_other_rules_than_those_fitted_with_are_learned_from_the_rows_at_hand(imputer, survey):
    fewer = RuleSet(survey.rules.rules[:3], survey.columns)
    table = survey.table.with_states(fewer.apply(survey.table))
    assert imputer.routes_.fits(survey.rules, survey.table)
    assert not imputer.routes_.fits(fewer, survey.table)
    before = imputer.rules_
    try:
        imputer.rules_ = fewer
        found = imputer.impute(survey.to_frame(), m=1)
    finally:
        imputer.rules_ = before
    kinds = [event.kind for event in found.events if stage(event) == "routing"]
    assert kinds[0] == "routes_learned_from_rows_at_hand"
    assert RouteModels.fit(table, fewer).fits(fewer, table)


def test_skips_of_a_draw_are_written_as_the_file_writes_skips():
    columns = (
        Column("ever", ColumnKind.NOMINAL, (1, 2)),
        Column(
            "often",
            ColumnKind.NOMINAL,
            (1, 2, 3),
            special_codes={-1: Reason.SKIP, -9: Reason.BLANK},
        ),
        Column("age", ColumnKind.CONTINUOUS),
    )
    rules = RuleSet(
        tuple(SkipRule(f"r{t}", t, ((Condition("ever", (2,)),),)) for t in ("often", "age")),
        columns,
    ).approve()
    generator = np.random.default_rng(0)
    ever = generator.integers(1, 3, size=120)
    often = np.where(ever == 2, -1, generator.integers(1, 4, size=120))
    age = [
        None if e == 2 else float(a) for e, a in zip(ever, generator.normal(size=120), strict=True)
    ]
    frame = pl.DataFrame({"ever": ever, "often": often, "age": age}).with_columns(
        pl.when(pl.int_range(pl.len()) < 40).then(None).otherwise(pl.col("ever")).alias("ever"),
        pl.when(pl.int_range(pl.len()) < 40).then(-9).otherwise(pl.col("often")).alias("often"),
        pl.when(pl.int_range(pl.len()) < 40).then(None).otherwise(pl.col("age")).alias("age"),
    )
    imputer = TabSODAImputer(
        quality="tiny", description=_schema(columns), rules=rules, random_state=1, device="cpu"
    ).fit(frame)
    result = imputer.impute(frame, m=2)
    for table in result:
        past = table.filter(pl.col("ever") == 2)
        asked = table.filter(pl.col("ever") == 1)
        assert set(past["often"]) == {-1}
        assert past["age"].null_count() == past.height
        assert set(asked["often"]) <= {1, 2, 3}
        assert asked["age"].null_count() == 0
        assert table["often"].dtype == frame["often"].dtype
        assert 0 < past.head(1000).height < 120
    assert not [e for e in result.events if e.kind == "integers_become_float"]


def _schema(columns):
    from tabsoda.schema.schema import Schema

    return Schema(columns)


def test_rejected_rules_settle_nothing(survey):
    rules = survey.rules.reject(lambda rule: True)
    imputer = TabSODAImputer(quality="tiny", description=survey.schema(), rules=rules, device="cpu")
    result = imputer.fit(survey.to_frame()).impute(survey.to_frame(), m=1)
    assert not np.isnan(result.cells.draws).any()
    assert result.routing == RoutingRecord("follow", skipped=(0,))
    assert all(rule.status is RuleStatus.REJECTED for rule in rules)


def test_without_rules_the_mask_holds_and_an_event_says_so(survey):
    imputer = TabSODAImputer(quality="tiny", description=survey.schema(), device="cpu")
    mask = survey.skip_frame()
    imputer.fit(survey.to_frame(), skip_mask=mask)
    result = imputer.impute(survey.to_frame(), m=1, skip_mask=mask)
    assert result.routing is None
    assert not np.isnan(result.cells.draws).any()
    assert "states_kept_as_given" in [event.kind for event in result.events]


def test_an_unknown_policy_is_refused(survey):
    with pytest.raises(InputError, match="gate_policy has an unknown value"):
        TabSODAImputer(gate_policy="guess").fit(survey.to_frame())


def test_route_models_do_not_see_what_hangs_on_the_gate(survey):
    rules, table = survey.rules, survey.table
    marked = table.with_states(rules.apply(table))
    models = RouteModels.fit(marked, rules)
    position = table.names.index("CHRONIC")
    below = [table.names.index(name) for name in ("ILLNESS", "LIMITED")]
    mine = models.coefficients[models.gate == position][:, :-1]
    assert not mine[:, np.isin(models.predictors.source, [position, *below])].any()
    assert mine[:, models.predictors.source == table.names.index("HEALTH")].any()
    assert tiny_engine(marked).model.codec.fillable[position]


@pytest.fixture(scope="module")
def folder(survey, tmp_path_factory):
    folder = tmp_path_factory.mktemp("routing")
    survey.write(folder)
    survey.rules.to_toml(folder / "rules.toml")
    return folder


def _command(folder, *options):
    return [
        *("impute", str(folder / "survey.csv"), "--survey", str(folder / "survey.toml")),
        *("--rules", str(folder / "rules.toml"), "--device", "cpu", "-m", "2", "--no-report"),
        *("--quality", "tiny"),
        *options,
    ]


def test_the_plan_counts_unresolved_cells_apart(folder, capsys):
    main(_command(folder, "--dry-run", "--json"))
    plan = json.loads(capsys.readouterr().out)
    assert plan["unresolved"] == sum(v["unresolved"] for v in plan["variables"].values()) > 0
    assert plan["unresolved"] < plan["to_impute"]
    main(_command(folder, "--dry-run", "--json", "--gate-policy", "keep"))
    assert json.loads(capsys.readouterr().out)["unresolved"] == 0
    main(_command(folder, "--dry-run"))
    assert f"{plan['unresolved']:,} of them are unresolved" in capsys.readouterr().out


def test_the_command_follows_the_rules_records_and_prints_it(folder, capsys, survey):
    main(_command(folder, "-o", str(folder / "out")))
    text = capsys.readouterr().out
    manifest = json.loads((folder / "out" / "manifest.json").read_text(encoding="utf-8"))
    routing = manifest["routing"]
    assert (routing["policy"], manifest["options"]["gate_policy"]) == ("follow", "follow")
    assert f"{sum(routing['skipped']) / 2:,.0f} per draw were skipped" in text.replace("\n  ", " ")
    before = _checked(survey.to_frame(), survey).n_answered_although_skipped
    for number in ("001", "002"):
        frame = pl.read_parquet(folder / "out" / "imputations" / f"{number}.parquet")
        found = _checked(frame, survey)
        assert found.n_answered_although_skipped <= before
        assert found.totals["unexplained"] == 0
    assert load_result(folder / "out").routing.to_dict() == routing


def test_a_model_keeps_its_policy_unless_another_is_given(folder, capsys):
    main(_command(folder, "-o", str(folder / "kept"), "--gate-policy", "keep"))
    arguments = ["impute", str(folder / "survey.csv"), "--survey", str(folder / "survey.toml")]
    arguments += ["--model", str(folder / "kept" / "model"), "-m", "1", "--device", "cpu"]
    arguments += ["--no-report"]
    main([*arguments, "-o", str(folder / "second"), "--json"])
    main([*arguments, "-o", str(folder / "third"), "--gate-policy", "follow", "--json"])
    capsys.readouterr()
    found = [
        json.loads((folder / name / "manifest.json").read_text(encoding="utf-8"))["routing"]
        for name in ("kept", "second", "third")
    ]
    assert [routing["policy"] for routing in found] == ["keep", "keep", "follow"]
    assert found[2]["skipped"][0] > 0
