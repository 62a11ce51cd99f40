"""Study files: what they may say, and which cells they mean."""

from pathlib import Path

import pytest

from tabsoda.bench.cases import SurveyCase
from tabsoda.bench.studies.study import cases_of, load_study, make_study, tables_in
from tabsoda.errors import InputError

STUDIES = Path(__file__).parents[3] / "benchmarks" / "studies"
HOT_DECK = {"name": "tiny_methods:HotDeck"}
KNOWS = {"name": "tiny_methods:KnowsSkips"}


def _study(**settings):
    return make_study({"surveys": ["a", "b"], "methods": [HOT_DECK]} | settings)


@pytest.fixture
def cases(case):
    return {name: SurveyCase(name, case.table, case.followers) for name in ("a", "b")}


def test_the_grid_is_the_product(cases):
    study = _study(
        methods=[HOT_DECK, KNOWS],
        mechanisms=["mar", "mnar"],
        replications=3,
        skip_views=["blind", "level"],
        tracks=["resolved", "unresolved"],
    )
    cells = study.cells(cases)
    # Methods that know skips are shown them in one way only.
    assert len(cells) == 2 * 2 * 3 * 2 * (2 + 1)
    assert len({str(cell.path) for cell in cells}) == len(cells)
    assert {c.skip_view for c in cells if c.label == "Knows skips"} == {"own"}
    assert [c.replication for c in cells] == sorted(c.replication for c in cells)


def test_a_method_may_run_in_part_of_the_grid(cases):
    narrow = HOT_DECK | {
        "surveys": ["b"],
        "mechanisms": ["mar"],
        "replications": 1,
        "skip_views": ["blind"],
        "tracks": ["resolved"],
        "label": "narrow",
    }
    study = _study(methods=[HOT_DECK, narrow], replications=2, tracks=["resolved", "unresolved"])
    cells = [cell for cell in study.cells(cases) if cell.label == "narrow"]
    assert [(c.survey, c.mechanism, c.replication, c.skip_view, c.track) for c in cells] == [
        ("b", "mar", 0, "blind", "resolved")
    ]


def test_a_study_can_be_cut_to_some_methods():
    study = _study(methods=[HOT_DECK, KNOWS | {"label": "wise"}])
    assert [m.label for m in study.restricted(["wise"]).methods] == ["wise"]
    assert study.restricted(["all"]) == study
    with pytest.raises(InputError, match="no such method"):
        study.restricted(["wise", "foolish"])


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ({"mechanisms": ["mcar", "luck"]}, r"mechanisms\.1"),
        ({"replication": 3}, "replication"),
        ({"replications": 0}, "replications"),
        ({"rate": 1.5}, "rate"),
        ({"methods": []}, "methods"),
        ({"methods": [{"name": "mode", "speed": 3}]}, r"methods\.0\.speed"),
    ],
)
def test_bad_settings_are_named(settings, place):
    with pytest.raises(InputError, match=place):
        _study(**settings)


def test_methods_of_one_name_are_refused(cases):
    with pytest.raises(InputError, match=r"same name.*'Hot deck'"):
        _study(methods=[HOT_DECK, HOT_DECK]).cells(cases)
    labelled = [HOT_DECK, HOT_DECK | {"label": "again"}]
    assert {c.label for c in _study(methods=labelled).cells(cases)} == {"Hot deck", "again"}


def test_bad_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        load_study(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("surveys = [")
    with pytest.raises(InputError, match="not valid TOML"):
        load_study(tmp_path / "bad.toml")


@pytest.mark.parametrize("name", ["quick", "standard", "paper"])
def test_the_studies_of_this_repository_are_valid(name):
    from tabsoda.bench.methods.registry import METHODS

    study = load_study(STUDIES / f"{name}.toml")
    assert study.name == name
    assert {entry.name for entry in study.methods} <= set(METHODS)


def test_surveys_are_read_and_cut(surveys):
    study = make_study(
        {"surveys": ["nyts2019_products"], "methods": [HOT_DECK], "rows": 500, "columns": 12}
    )
    cases = cases_of(study, tables_in(study, surveys))
    assert cases["nyts2019_products"].table.shape == (500, 12)
    assert cases["nyts2019_products"].followers.any()
    assert not cases["nyts2019_products"].mined
