r"""Measure whether intervals hold the truth in a stratified, clustered sample with unequal weights.

    python benchmarks/coverage/design.py benchmarks/coverage/design.json --samples 0 100
    python benchmarks/coverage/design.py benchmarks/coverage/design_many_clusters.json \
        --clusters 300 --samples 0 200 --methods fast
    python benchmarks/coverage/design.py benchmarks/coverage/design_many_clusters.json \
        --clusters 300 --samples 0 60

A population of 8 strata with 30 clusters of 60 people each; two to six clusters per stratum and 15
to 30 people per cluster are sampled, so that weights differ ninefold. The variance formula assumes
sampling with replacement; with 30 clusters per stratum it is too large, with --clusters 300 it is
right. Answers differ between strata and between clusters. About 30 % of three questions are
hidden at random, depending on a complete question and on the weight. Estimates are weighted, with
linearised variances of the design, and pooled with clusters less strata as degrees of freedom of
complete data.

Methods: complete data; ``fast`` with the design as predictors (the default) and without it; R's
mice with its defaults on the questions alone, and with the logarithm of the weight and the strata
as predictors. Trees enter point estimates alone and are not fitted. Samples that the result file
holds already are not drawn again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import stats

from tabsoda import TabSODAImputer, read_survey
from tabsoda.bench.methods.r_mice import _read, _write
from tabsoda.table import CodedTable

Values = dict[str, NDArray[np.float64]]
STRATA, CLUSTERS, PEOPLE = 8, 30, 60
SAMPLED_CLUSTERS = (4, 4, 4, 4, 3, 3, 2, 6)
SAMPLED_PEOPLE = (30, 30, 20, 20, 25, 25, 30, 15)
HIDDEN = ("income", "owns", "health")
QUESTIONS = ("age", "hours", *HIDDEN)
N_DRAWS = 10
SHARE = 0.3
SCRIPT = Path(__file__).with_name("mice_variants.R")
DESCRIPTION = [
    {"name": "age", "type": "continuous"},
    {"name": "hours", "type": "continuous"},
    {"name": "income", "type": "continuous"},
    {"name": "owns", "type": "nominal", "levels": [0, 1]},
    {"name": "health", "type": "ordinal", "levels": [0, 1, 2, 3]},
    {"name": "weight", "type": "continuous", "role": "weight"},
    {"name": "stratum", "type": "nominal", "role": "stratum"},
    {"name": "cluster", "type": "nominal", "role": "cluster"},
]


def population(clusters: int = CLUSTERS) -> Values:
    random = np.random.default_rng(0)
    stratum = np.repeat(np.arange(STRATA), clusters * PEOPLE)
    cluster = np.repeat(np.arange(STRATA * clusters), PEOPLE)
    n = stratum.size
    of_stratum = np.linspace(-0.8, 0.8, STRATA)[stratum]
    of_cluster = random.normal(size=(STRATA * clusters, 4))[cluster]
    age = 0.3 * of_stratum + 0.35 * of_cluster[:, 0] + random.normal(size=n)
    hours = 0.4 * age + random.normal(size=n)
    income = 1 + 0.6 * of_stratum + 0.5 * age + 0.3 * hours + 0.45 * of_cluster[:, 1]
    income += random.normal(size=n)
    owns = -0.3 + 0.6 * of_stratum + 0.2 * income + 0.5 * of_cluster[:, 2]
    health = 0.5 * of_stratum + 0.4 * income + 0.4 * of_cluster[:, 3] + random.normal(size=n)
    return {
        "age": age,
        "hours": hours,
        "income": income,
        "owns": (owns + random.logistic(size=n) > 0).astype(float),
        "health": np.digitize(health, [-0.8, 0, 0.8]).astype(float),
        "stratum": stratum.astype(float),
        "cluster": cluster.astype(float),
        "weight": np.ones(n),
    }


def sample(people: Values, random: np.random.Generator) -> Values:
    rows, weights = [], []
    clusters = people["weight"].size // (STRATA * PEOPLE)
    for stratum in range(STRATA):
        n_clusters, n_people = SAMPLED_CLUSTERS[stratum], SAMPLED_PEOPLE[stratum]
        for cluster in random.choice(clusters, n_clusters, replace=False) + stratum * clusters:
            members = np.flatnonzero(people["cluster"] == cluster)
            rows.append(random.choice(members, n_people, replace=False))
            weights.append(np.full(n_people, clusters / n_clusters * PEOPLE / n_people))
    chosen = {name: values[np.concatenate(rows)] for name, values in people.items()}
    return chosen | {"weight": np.concatenate(weights)}


def hidden(complete: Values, random: np.random.Generator) -> Values:
    tendency = 0.6 * stats.zscore(complete["hours"])
    tendency += 0.5 * stats.zscore(np.log(complete["weight"]))
    chance = 1 / (1 + np.exp(-(tendency + np.log(SHARE / (1 - SHARE)))))
    seen = {name: values.copy() for name, values in complete.items()}
    for name in HIDDEN:
        seen[name][random.random(chance.size) < chance] = np.nan
    return seen


def linearised(influence: NDArray[np.float64], data: Values) -> float:
    """Return the variance of a total of influences over clusters in strata."""
    total = 0.0
    for stratum in np.unique(data["stratum"]):
        own = data["stratum"] == stratum
        codes = np.unique(data["cluster"][own], return_inverse=True)[1]
        sums = np.bincount(codes, influence[own])
        total += sums.size / (sums.size - 1) * float(((sums - sums.mean()) ** 2).sum())
    return total


def estimates(data: Values) -> dict[str, tuple[float, float]]:
    """Return every estimate and its variance."""
    weight, found = data["weight"], {}
    shares = {
        "mean of income": data["income"],
        "share of owners": data["owns"],
        "share in good health": (data["health"] > 1).astype(float),
    }
    for name, values in shares.items():
        mean = float((weight * values).sum() / weight.sum())
        found[name] = (mean, linearised(weight * (values - mean) / weight.sum(), data))
    predictors = np.column_stack([np.ones(weight.size), data["age"], data["hours"]])
    bread = np.linalg.inv((predictors * weight[:, None]).T @ predictors)
    for name, outcome in (("income on age", "income"), ("owner on age", "owns")):
        slopes = bread @ ((predictors * weight[:, None]).T @ data[outcome])
        residual = data[outcome] - predictors @ slopes
        influence = (predictors * (weight * residual)[:, None]) @ bread
        found[name] = (float(slopes[1]), linearised(influence[:, 1], data))
    return found


def by_tabsoda(seen: Values, seed: int, *, use_design: bool) -> Iterator[Values]:
    frame = pl.DataFrame(seen).fill_nan(None)
    survey = read_survey(frame, DESCRIPTION)
    imputer = TabSODAImputer(
        quality="fast",
        settings={"trees": {"effort": "none"}},
        description=survey.schema,
        use_design=use_design,
        random_state=seed,
    )
    result = imputer.fit(survey).impute(survey, m=N_DRAWS)
    for number in range(1, N_DRAWS + 1):
        yield {name: result.complete(number)[name].to_numpy().astype(float) for name in seen}


def by_mice(seen: Values, seed: int, *, use_design: bool) -> Iterator[Values]:
    names = [*QUESTIONS, "weight", "stratum"] if use_design else list(QUESTIONS)
    given = pl.DataFrame({name: seen[name] for name in names}).fill_nan(None)
    given = given.with_columns(pl.col("weight").log()) if use_design else given
    kinds = {one["name"]: one for one in DESCRIPTION}
    described = [kinds[name] | {"role": "question"} for name in names]
    table: CodedTable = read_survey(given, described).table
    shift = np.array([float(column.is_categorical) for column in table.columns])
    with tempfile.TemporaryDirectory() as place:
        _write(table, Path(place))
        command = ["Rscript", "--vanilla", str(SCRIPT), place, str(N_DRAWS), "5", "default"]
        subprocess.run([*command, str(seed + 1)], check=True, capture_output=True)
        for number in range(1, N_DRAWS + 1):
            drawn = _read(Path(place) / f"draw_{number}.csv")[:, : shift.size] - shift
            yield seen | {name: drawn[:, at] for at, name in enumerate(QUESTIONS)}


METHODS = {
    "fast": lambda seen, seed: by_tabsoda(seen, seed, use_design=True),
    "fast, design ignored": lambda seen, seed: by_tabsoda(seen, seed, use_design=False),
    "mice": lambda seen, seed: by_mice(seen, seed, use_design=False),
    "mice, weights and strata": lambda seen, seed: by_mice(seen, seed, use_design=True),
}


def pooled(found: list[tuple[float, float]]) -> tuple[float, float, float]:
    """Return estimate, standard error and half width of the 95 % interval (Rubin 1987)."""
    complete_df = float(sum(SAMPLED_CLUSTERS) - STRATA)
    values, within = [one[0] for one in found], float(np.mean([one[1] for one in found]))
    if len(found) == 1:
        error = np.sqrt(within)
        return values[0], error, float(stats.t.ppf(0.975, complete_df) * error)
    between = (1 + 1 / len(found)) * float(np.var(values, ddof=1))
    total = within + between
    share = between / total
    observed = (complete_df + 1) / (complete_df + 3) * complete_df * (1 - share)
    df = 1 / (share**2 / (len(found) - 1) + 1 / observed)
    return float(np.mean(values)), np.sqrt(total), float(stats.t.ppf(0.975, df) * np.sqrt(total))


def one_sample(
    people: Values, number: int, methods: list[str]
) -> dict[str, dict[str, list[float]]]:
    random = np.random.default_rng(1000 + number)
    complete = sample(people, random)
    seen = hidden(complete, random)
    known = estimates(complete)
    found = {"complete data": {name: list(pooled([one])) for name, one in known.items()}}
    for method in methods:
        drawn = [estimates(data) for data in METHODS[method](seen, number)]
        found[method] = {name: list(pooled([one[name] for one in drawn])) for name in known}
    return found


def table(records: dict[str, dict[str, dict[str, list[float]]]], truth: dict[str, float]) -> str:
    """Return coverage in % (bias in standard errors of complete data, width, error ratio).

    The width is relative to complete data. The error ratio is the root mean squared
    distance from the estimate of complete data, divided by what the increase in variance implies;
    above 1, the variance is too small.
    """
    methods = ["complete data", *METHODS]
    lines = ["| estimate | " + " | ".join(methods) + " |", "| --- |" + " ---: |" * len(methods)]
    for name, true in truth.items():
        cells = []
        for method in methods:
            own = np.array([one[method][name] for one in records.values() if method in one])
            base = np.array(
                [one["complete data"][name] for one in records.values() if method in one]
            )
            if not own.size:
                cells.append("")
                continue
            covered = 100 * float((np.abs(own[:, 0] - true) <= own[:, 2]).mean())
            bias = float((own[:, 0] - base[:, 0]).mean() / base[:, 1].mean())
            width = float((own[:, 1] / base[:, 1]).mean())
            claimed = float((own[:, 1] ** 2 - base[:, 1] ** 2).mean())
            error = float(np.sqrt(((own[:, 0] - base[:, 0]) ** 2).mean()))
            ratio = f", {error / np.sqrt(claimed):.2f}" if claimed > 0 and error > 0 else ""
            cells.append(f"{covered:.0f} ({bias:+.2f}, {width:.2f}{ratio}; {len(own)})")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result", type=Path)
    parser.add_argument("--samples", nargs=2, type=int, default=(0, 100))
    parser.add_argument("--methods", default=";".join(METHODS))
    parser.add_argument("--clusters", type=int, default=CLUSTERS)
    options = parser.parse_args()
    people = population(options.clusters)
    truth = {name: one[0] for name, one in estimates(people).items()}
    records = {}
    if options.result.exists():
        records = json.loads(options.result.read_text(encoding="utf-8"))["samples"]
    for number in range(*options.samples):
        kept = records.setdefault(str(number), {})
        missing = [name for name in options.methods.split(";") if name and name not in kept]
        if missing or not kept:
            records[str(number)] = kept | one_sample(people, number, missing)
            content = {"truth": truth, "samples": records}
            options.result.write_text(json.dumps(content) + "\n", encoding="utf-8")
    print(table(records, truth))


if __name__ == "__main__":
    main()
