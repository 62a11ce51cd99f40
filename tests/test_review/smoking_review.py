"""A small survey with its rules, and the review page as its own script sees it."""

import httpx
import numpy as np

from tabsoda.events import EventLog
from tabsoda.schema import Column, ColumnKind, Schema
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.rules import Condition, SkipRule
from tabsoda.survey import Survey
from tabsoda.table import CodedTable

EVIL = '<img src=x onerror="document.title=\'pwned\'"><script>document.title="pwned"</script>'


def smoking_survey() -> Survey:
    """Return a survey of 400: who never smoked skips two questions; five answered all the same."""
    columns = (
        Column("EVER", ColumnKind.NOMINAL, (1, 2), "Ever smoked?", {1: "Yes", 2: EVIL}),
        Column("AGE", ColumnKind.CONTINUOUS, label="Age in years"),
        Column("NOW", ColumnKind.NOMINAL, (1, 2, 3), "Smoke <b>now</b>?", {1: "Daily", 3: "No"}),
        Column("PACKS", ColumnKind.CONTINUOUS, label="Packs a week", universe="Smokes now"),
        Column("RETIRED", ColumnKind.NOMINAL, (1, 2), "Retired?"),
    )
    rng = np.random.default_rng(1)
    ever = rng.integers(0, 2, 400).astype(float)
    age = rng.integers(18, 90, 400).astype(float)
    now = rng.integers(0, 3, 400).astype(float)
    now[ever == 1] = np.nan
    now[np.flatnonzero(ever == 1)[:5]] = 0
    packs = rng.integers(1, 9, 400).astype(float)
    packs[(ever == 1) | (now == 2)] = np.nan
    retired = rng.integers(0, 2, 400).astype(float)
    retired[age <= 60] = np.nan
    retired[np.flatnonzero(age > 60)[:7]] = np.nan
    values = np.column_stack([ever, age, now, packs, retired])
    table = CodedTable.from_values(columns, values)
    return Survey(None, Schema(columns), table, {}, EventLog(), "smoking.csv")


def smoking_rules(survey: Survey) -> RuleSet:
    never = (Condition("EVER", (2,)),)
    stopped = (Condition("NOW", (3,), or_skipped=True),)
    rules = (
        SkipRule("r001", "NOW", (never,)),
        SkipRule("r002", "PACKS", (stopped,), extended_from="NOW"),
        SkipRule("r003", "RETIRED", ((Condition("AGE", up_to=60.0),),)),
    )
    return RuleSet(rules, survey.table.columns)


class Page:
    """The review page as its own script sees it."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.origin = address.split("/")[0] + "//" + address.split("/")[2]
        self.client = httpx.Client(base_url=address, trust_env=False)
        self.headers = {"origin": self.origin, "x-tabsoda-review": "1"}

    def get(self, path: str, **options):
        return self.client.get(path, **options)

    def post(self, path: str, body, **headers):
        kept = {name: text for name, text in (self.headers | headers).items() if text is not None}
        return self.client.post(path, json=body, headers=kept)

    def version(self) -> str:
        return self.get("api/rules").json()["version"]
