"""A small survey to evaluate on, and cells of it."""

import pytest

from tabsoda.bench.cases import Mining, SurveyCase
from tabsoda.bench.studies.cells import CellSettings
from tabsoda.datasets import make_survey


@pytest.fixture(scope="session")
def case():
    table = make_survey(n_rows=300, n_columns=14, seed=5).true_table
    return SurveyCase.of("tiny", table, mine=[Mining()])


@pytest.fixture(scope="session")
def make_cells(case):
    """Return cells of a method under MAR, one per replication."""

    def make(method, replications=2, **settings):
        first = {"mechanism": "mar", "label": method.split(":")[-1], "skip_view": "level"}
        return [
            CellSettings(
                **{
                    "survey": case.name,
                    "fingerprint": case.fingerprint,
                    "method": method,
                    "replication": replication,
                }
                | first
                | settings
            )
            for replication in range(replications)
        ]

    return make


@pytest.fixture(scope="session")
def comparable():
    """Return what must not depend on where a cell was run."""

    def strip(results):
        timings = ("seconds", "harness_seconds", "machine")
        return [{k: v for k, v in one.items() if k not in timings} for one in results]

    return strip
