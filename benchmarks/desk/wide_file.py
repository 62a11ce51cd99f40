"""Measure how the desk answers for a wide file: CPU seconds and size of each answer.

    python benchmarks/desk/wide_file.py SURVEYS/ benchmarks/desk/wide_file.json

Opens the male file of NSFG (10,403 x 219) in a new project, in this process, and asks for what the
page asks for: to open it, to show it, to correct one column and many, to undo that, to show what
its rules skip, and to plan a run. Mining the rules is a job of its own and is not measured.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from tabsoda.desk.app import make_app
from tabsoda.desk.imputation_choice import ImputationChoice
from tabsoda.desk.project import Project
from tabsoda.skips.mining import mine_survey

SURVEY, TOKEN, PORT = "nsfg2006_2010_male", "token", 8000
HEADERS = {
    "host": f"127.0.0.1:{PORT}",
    "origin": f"http://127.0.0.1:{PORT}",
    "x-tabsoda-review": "1",
}


def measured(ask: Callable[[], Any]) -> tuple[dict[str, float], Any]:
    """Return CPU seconds and kilobytes of an answer, and the answer."""
    start = time.process_time()
    answer = ask()
    seconds = time.process_time() - start
    if answer.status_code != 200:
        raise RuntimeError(f"{answer.status_code}: {answer.text[:300]}")
    return {
        "cpu_seconds": round(seconds, 2),
        "kilobytes": round(len(answer.content) / 1000),
    }, answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("surveys", type=Path)
    parser.add_argument("result", type=Path)
    options = parser.parse_args()
    source = options.surveys / SURVEY / "values.parquet"
    with tempfile.TemporaryDirectory() as place:
        project = Project(Path(place) / "project")
        client = TestClient(make_app(project, TOKEN, PORT, lambda: None), headers=HEADERS)
        found: dict[str, Any] = {}

        def post(name: str, **body: Any) -> Any:
            return client.post(f"/{TOKEN}/api/{name}", json={"version": project.version, **body})

        found["open a file"], _ = measured(lambda: post("open", path=str(source)))
        found["show it"], _ = measured(lambda: client.get(f"/{TOKEN}/api/open"))
        found["show it again"], _ = measured(lambda: client.get(f"/{TOKEN}/api/open"))
        survey = project.survey()
        name = survey.table.columns[5].name
        found["correct a column"], _ = measured(
            lambda: post("open/correct", settings=[f"{name}.role=ignore"])
        )
        found["undo"], _ = measured(lambda: post("open/undo"))
        names = [column.name for column in survey.table.columns[:100]]
        found["correct 100 columns"], _ = measured(
            lambda: post("open/correct", settings=[f"{one}.role=ignore" for one in names])
        )
        found["undo that"], _ = measured(lambda: post("open/undo"))
        mine_survey(project.survey()).rules.to_toml(project.rules)
        found["show the routing step"], _ = measured(lambda: client.get(f"/{TOKEN}/api/routing"))
        found["its map"], _ = measured(lambda: client.get(f"/{TOKEN}/api/routing/map.png"))
        found["show the rules"], _ = measured(lambda: client.get(f"/{TOKEN}/review/api/rules"))
        choice = ImputationChoice("run-1", accept_all=True).to_dict()
        found["plan a run"], _ = measured(lambda: post("impute/plan", choice=choice))
        rows, columns = survey.table.shape
    content = {"survey": SURVEY, "rows": rows, "columns": columns, "answers": found}
    options.result.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
