"""Code for R and Python, run on exported files, gives the numbers of ``pool``."""

import re
import shutil
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from tabsoda import read_survey
from tabsoda.analysis import PooledEstimates, PooledGroups, PooledTable
from tabsoda.analysis.design_request import DesignRequest
from tabsoda.analysis.request import EstimateRequest
from tabsoda.errors import InputError
from tabsoda.exchange import export
from tabsoda.publishing.scripts import EXPORTS, analysis_script
from tabsoda.results import Imputations, ImputedCells

PLAIN = DesignRequest(no_design=True)
FINITE = DesignRequest(population="n_psu", lonely="adjust")
REQUESTS = {
    "mean": EstimateRequest("mean", ("income", "members")),
    "mean_plain": EstimateRequest("mean", ("income", "cigarettes"), design=PLAIN),
    "mean_by": EstimateRequest("mean", ("income",), by="smokes", where="members > 1"),
    "mean_text_groups": EstimateRequest("mean", ("income",), by="area", design=PLAIN),
    "share": EstimateRequest("share", ("region",), where="not (smokes == 'Yes' or income < 30)"),
    "share_plain": EstimateRequest("share", ("smokes",), where="health >= 'fair'", design=PLAIN),
    "share_not_in": EstimateRequest("share", ("members",), where="region not in ('a', 'c')"),
    "total": EstimateRequest("total", ("cigarettes",), design=FINITE),
    "total_plain": EstimateRequest("total", ("cigarettes",), where="area != 'farm'", design=PLAIN),
    "ratio": EstimateRequest("ratio", ("cigarettes:income",), design=FINITE, where="10 < income"),
    "ratio_plain": EstimateRequest("ratio", ("income:members",), design=PLAIN),
    "weights_only": EstimateRequest(
        "mean", ("income",), design=DesignRequest("wt", no_design=True)
    ),
    "fraction": EstimateRequest(
        "mean",
        ("income",),
        design=DesignRequest("wt", clusters="psu", population="0.3", no_design=True),
    ),
    "table": EstimateRequest("table", ("smokes", "region")),
    "table_by": EstimateRequest("table", ("health", "smokes"), by="area", design=PLAIN),
    "median": EstimateRequest("median", ("income",)),
    "quantile": EstimateRequest(
        "quantile", ("income:0.25", "income:0.8", "members:0.4"), by="smokes"
    ),
    "quantile_plain": EstimateRequest("quantile", ("income:0.9", "members:0.5"), design=PLAIN),
    "linear": EstimateRequest("formula", ("income ~ smokes + C(members) + region",)),
    "linear_plain": EstimateRequest(
        "formula", ("log(income + 60) ~ members * smokes + I(members ** 2) + area",), design=PLAIN
    ),
    "linear_by": EstimateRequest(
        "formula", ("income ~ members",), by="region", where="smokes is not None"
    ),
    "logistic": EstimateRequest(
        "formula", ("I(smokes == 1) ~ income + health",), "binomial", exponentiate=True
    ),
    "logistic_plain": EstimateRequest(
        "formula",
        ("I(region == 'a') ~ income + C(members, Treatment(3))",),
        "binomial",
        design=PLAIN,
    ),
    "poisson": EstimateRequest("formula", ("cigarettes ~ income",), "poisson", design=FINITE),
    "no_intercept": EstimateRequest("formula", ("income ~ 0 + smokes + members",), design=PLAIN),
}


def estimates(part):
    """Return every pooled estimate of a result, in the order of the scripts."""
    if isinstance(part, PooledEstimates):
        return [part]
    if isinstance(part, PooledTable):
        return [*estimates(part.rows), part.total]
    assert isinstance(part, PooledGroups)
    return [one for group in part.values() for one in estimates(group)]


def expected_rows(result, request):
    """Return estimate, standard error, df, ends and p of every row, group by group."""
    found = [one.table() for part in request.estimate(result) for one in estimates(part)]
    names = ("estimate", "std_error", "df", "low", "high", "p_value")
    return [one.select(names).to_numpy() for one in found]


COLUMNS = ["estimate", "std_error", "df", "low", "high", "p_value"]


def compare(answer, expected):
    """Compare group by group; terms of models are ordered differently in R."""
    for name in {"estimate", "low", "high"} if "exp_low" in answer.columns else ():
        np.testing.assert_allclose(answer[f"exp_{name}"], np.exp(answer[name]), rtol=1e-9)
    values = answer[COLUMNS].to_numpy().astype(float)
    assert len(values) == sum(map(len, expected))
    start = 0
    for group in expected:
        block = values[start : start + len(group)]
        start += len(group)
        block, group = block[np.argsort(block[:, 0])], group[np.argsort(group[:, 0])]
        np.testing.assert_allclose(block[:, :5], group[:, :5], rtol=1e-6, atol=1e-9)
        same_tests = np.isfinite(group[:, 5])
        np.testing.assert_allclose(block[same_tests, 5], group[same_tests, 5], 1e-5, 1e-9)


@pytest.mark.parametrize("name", REQUESTS)
def test_python_code_gives_the_same_numbers(name, described, exported):
    code = analysis_script(described, REQUESTS[name], "python")
    folder = exported["python"]
    script = folder / f"{name}.py"
    script.write_text(f"{code}\nanswer.to_parquet('{name}.parquet')\n", encoding="utf-8")
    # In this process: starting Python for every request would take most of the time.
    scope = {"__name__": name}
    from contextlib import chdir

    with chdir(folder):
        exec(compile(script.read_text(encoding="utf-8"), str(script), "exec"), scope)
    answer = pl.read_parquet(folder / f"{name}.parquet")
    assert ("exp_low" in answer.columns) == REQUESTS[name].exponentiate
    compare(answer, expected_rows(described, REQUESTS[name]))


def test_python_code_needs_nothing_of_tabsoda(described, exported):
    code = analysis_script(described, REQUESTS["mean"], "python")
    (exported["python"] / "alone.py").write_text(
        f"{code}\nimport sys\nassert 'tabsoda' not in sys.modules\n", encoding="utf-8"
    )
    done = subprocess.run(
        [sys.executable, "alone.py"], cwd=exported["python"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "income" in done.stdout


# One of every kind, with and without a design, groups and a subset; the others run with all tests.
QUICK_R = ("mean_by", "share_plain", "total_plain", "ratio", "table_by", "quantile", "logistic")


@pytest.mark.parametrize(
    "names", [QUICK_R, pytest.param(tuple(REQUESTS), marks=pytest.mark.slow)], ids=["few", "all"]
)
def test_r_code_gives_the_same_numbers(names, described, exported):
    if shutil.which("Rscript") is None:
        pytest.skip("R is not here")
    folder = exported["r"]
    lines = [
        "wanted <- c('mice', 'survey')",
        "there <- sapply(wanted, requireNamespace, quietly = TRUE)",
        "if (!all(there)) { cat('absent'); quit() }",
    ]
    for name in names:
        code = analysis_script(described, REQUESTS[name], "r")
        (folder / f"{name}.R").write_text(code, encoding="utf-8")
        lines.append(
            f"e <- new.env(); sys.source('{name}.R', e); write.csv(e$answer, '{name}.csv')"
        )
    (folder / "all.R").write_text("\n".join(lines), encoding="utf-8")
    done = subprocess.run(["Rscript", "all.R"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    if done.stdout.endswith("absent"):
        pytest.skip("R has not all packages")
    for name in names:
        answer = pl.read_csv(folder / f"{name}.csv", null_values=["NA", "NaN"])
        assert ("exp_low" in answer.columns) == REQUESTS[name].exponentiate
        compare(answer, expected_rows(described, REQUESTS[name]))


ESTIMATE = re.compile(
    r"(capture noisily )?(quietly )?mi estimate, esampvaryok( or| irr| eform)?( cmdok)?: "
    r"(svy, subpop\([^:]+\): )?"
    r"(mean \w+|proportion \w+|total \w+|ratio \w+ / \w+"
    r"|(regress|logit|poisson) \w+( (ib?\d*\.|c\.)?\w+(#(ib?\d*\.|c\.)?\w+)*)*)( if .+)?"
)
SVYSET = re.compile(
    r"mi svyset (_n|\w+)( \[pweight = \w+\])?,( strata\(\w+\))?( fpc\(\w+\))? "
    r"singleunit\((missing|certainty|centered|scaled)\)"
)
OTHER = re.compile(
    r"(\*.*|do imputations\.do|(quietly )?replace \w+ = .+"
    r"|mi passive: generate (byte|double) \w+ = .+"
    r"|foreach group\d in .+ \{|\}|display .+|capture drop \w+|encode \w+, generate\(\w+\)"
    r"|quietly egen double \w+ = total\(.+\), by\(_mi_m\)|_pctile \w+ \[aweight = \w+\] if .+"
    r"|local \w+ = .+|quietly summarize \w+( if .+)?, meanonly|matrix found = r\(table\)|)"
)


@pytest.mark.parametrize("name", [name for name in REQUESTS if name != "no_intercept"])
def test_stata_code_follows_the_grammar_of_mi_and_svy(name, described, exported):
    import pyreadstat

    request = REQUESTS[name]
    code = analysis_script(described, request, "stata")
    lines = [line.strip() for line in code.splitlines()]
    for line in lines:
        pattern = next(
            (p for p, word in ((ESTIMATE, "mi estimate"), (SVYSET, "svyset")) if word in line),
            OTHER,
        )
        assert pattern.fullmatch(line), line
        assert line.count("(") == line.count(")"), line
    assert code.count("{\n") == code.count("}\n")
    made = set(
        re.findall(r"generate (?:byte|double) (\w+) =|double (\w+_) =|generate\((\w+)\)", code)
    )
    known = {one for names in made for one in names}
    _, file = pyreadstat.read_dta(exported["stata"] / "imputations.dta", metadataonly=True)
    # Every variable that an estimate names is in the file, or was made above it.
    for line in lines:
        if "mi estimate" in line and "*" not in line[:1]:
            command = line.rsplit(": ", 1)[1].split(" if ")[0]
            used = re.findall(r"(?:^|[ #.])([a-z]\w*)", command.split(" ", 1)[1])
            names = [one for one in used if not re.fullmatch(r"i|c|ib?\d*", one)]
            assert names
            assert set(names) <= {*file.column_names, *known}, line


def test_stata_code_says_what_it_cannot_write(described):
    with pytest.raises(InputError, match="without an intercept"):
        analysis_script(described, REQUESTS["no_intercept"], "stata")
    spline = EstimateRequest("formula", ("income ~ bs(members, df=4)",))
    for language in ("r", "stata"):
        with pytest.raises(InputError, match=r"bs\(members, df=4\)"):
            analysis_script(described, spline, language)
    assert "bs(members, df=4)" in analysis_script(described, spline, "python")
    product = EstimateRequest("formula", ("income ~ members:smokes",))
    with pytest.raises(InputError, match="without its parts"):
        analysis_script(described, product, "stata")


def test_reference_levels_are_those_of_the_description(described):
    code = analysis_script(
        described, EstimateRequest("formula", ("income ~ smokes + region",)), "stata"
    )
    # The description lists 2 first; texts are numbered in its order.
    assert code.splitlines()[-1].endswith("regress income ib2.smokes i.region")


@pytest.mark.parametrize("language", ["r", "stata", "python"])
def test_requests_that_cannot_be_estimated_give_no_code(language, described):
    for request, problem in (
        (EstimateRequest("mean", ("nothing",)), "nothing"),
        (EstimateRequest("mean", ("region",)), "not numbers"),
        (EstimateRequest("share", ("income",)), "no levels"),
        (EstimateRequest("quantile", ("smokes:0.5",)), "nominal"),
        (EstimateRequest("mean", ("income",), where="income =="), "cannot be read"),
        (EstimateRequest("formula", ("income ~ __import__('os')",)), "not allowed"),
        (EstimateRequest("mean", ("income",), design=DesignRequest(strata="income")), "strata"),
    ):
        with pytest.raises(InputError, match=problem):
            analysis_script(described, request, language)


def odd_result():
    """Return a result whose names and texts have to be quoted."""
    generator = np.random.default_rng(8)
    n = 60
    ages = [
        None if row < 5 else float(age) for row, age in enumerate(generator.integers(18, 80, n))
    ]
    frame = pl.DataFrame(
        {
            "my age": pl.Series(ages, dtype=pl.Float64),
            "größe": generator.normal(170, 9, n).round(1),
            'the "area"': np.array(['a "b"', "c\\d", "it's"])[generator.integers(0, 3, n)],
            "if": np.array(["süd", "=cmd()", "north"])[generator.integers(0, 3, n)],
        }
    )
    description = [
        {"name": "my age", "type": "continuous"},
        {"name": "größe", "type": "continuous"},
        {"name": 'the "area"', "type": "nominal", "role": "ignore", "levels": []},
        {"name": "if", "type": "nominal", "levels": ["süd", "=cmd()", "north"]},
    ]
    survey = read_survey(frame, description)
    rows, positions = np.nonzero(survey.states.missing)
    draws = generator.integers(18, 80, (4, len(rows))).astype(float)
    cells = ImputedCells(rows, positions, draws, draws[0].copy(), draws[0].copy())
    return Imputations(survey.table, cells, survey)


ODD = {
    "odd_mean": EstimateRequest(
        "mean", ("my age",), by='the "area"', where="(Q('größe') >\n 160) and Q('if') != 'süd'"
    ),
    "odd_shares": EstimateRequest("share", ("if",), where="Q('the \"area\"') != 'c\\\\d'"),
    "odd_model": EstimateRequest("formula", ("Q('größe') ~ Q('my age') + Q('if')",)),
}


def test_odd_names_and_texts_are_quoted(tmp_path):
    from contextlib import chdir

    result = odd_result()
    for language, target in EXPORTS.items():
        export(result, target, tmp_path / language)
    runs = []
    for name, request in ODD.items():
        code = analysis_script(result, request, "python")
        with chdir(tmp_path / "python"):
            scope = {"__name__": name}
            exec(compile(code, name, "exec"), scope)
        compare(pl.from_pandas(scope["answer"]), expected_rows(result, request))
        text = analysis_script(result, request, "r")
        (tmp_path / "r" / f"{name}.R").write_text(text, encoding="utf-8")
        runs.append(f"e <- new.env(); sys.source('{name}.R', e); write.csv(e$answer, '{name}.csv')")
        stata = analysis_script(result, request, "stata")
        assert all(line.count("(") == line.count(")") for line in stata.splitlines())
        assert "größe" not in "".join(x for x in stata.splitlines() if not x.startswith("*"))
    if shutil.which("Rscript") is None:
        pytest.skip("R is not here")
    (tmp_path / "r" / "all.R").write_text("\n".join(runs), encoding="utf-8")
    done = subprocess.run(["Rscript", "all.R"], cwd=tmp_path / "r", capture_output=True, text=True)
    if "no package" in done.stderr:
        pytest.skip("mice is not here")
    assert done.returncode == 0, done.stderr
    for name, request in ODD.items():
        answer = pl.read_csv(tmp_path / "r" / f"{name}.csv", null_values=["NA", "NaN"])
        compare(answer, expected_rows(result, request))


def test_large_codes_and_populations_are_written_in_full():
    generator = np.random.default_rng(2)
    frame = pl.DataFrame(
        {
            "age": [None, *generator.integers(18, 80, 59).astype(float)],
            "job": np.array([1234567, 1234568])[generator.integers(0, 2, 60)],
        }
    )
    labels = {"1234567": "Nurse", "1234568": "Doctor"}
    description = [
        {"name": "age", "type": "continuous"},
        {"name": "job", "type": "nominal", "levels": [1234568, 1234567], "level_labels": labels},
    ]
    survey = read_survey(frame, description)
    draws = np.array([[30.0], [40.0]])
    cells = ImputedCells(np.array([0]), np.array([0]), draws, draws[0].copy(), draws[0].copy())
    result = Imputations(survey.table, cells, survey)
    subset = EstimateRequest("quantile", ("age:0.3333333",), where="job == 'Nurse'")
    finite = EstimateRequest("mean", ("age",), design=DesignRequest(population="1234567"))
    for language in EXPORTS:
        code = analysis_script(result, subset, language).replace("t['job']", "job")
        assert "job == 1234567" in code
        assert "0.3333333" in code.split("\n", 4)[-1]
        code = analysis_script(result, finite, language)
        assert "1234567" in code.split("\n", 3)[-1]
    model = EstimateRequest("formula", ("age ~ job",))
    assert "ib1234568.job" in analysis_script(result, model, "stata")
