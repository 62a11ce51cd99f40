"""Take real survey files through the workflow, and score them against a person's judgement.

    python benchmarks/real_files/run.py FOLDER [FOLDER ...] [--only NAME ...] [--no-impute]
        [--details] [--results FILE]

Each FOLDER holds one folder per file, named as in ``judged/*.toml``; the folders may also be given
in TABSODA_REAL_FILES. The files themselves are not part of this repository: ``source`` in each
judgement says where they are published. Writes results.json (facts and counts, no data) and the
table in README.md next to this script. Of held-out files only counts are kept, unless --details is
given.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

from judgement import Judgement, load_all
from raw import codes_by_column, column_names, with_distinct_names
from scoring import masked_states, score_cells, score_description, score_gates
from summary import write_readme
from workflow import MAX_ROWS, run_workflow

from tabsoda import SkipMiner, read_survey
from tabsoda.skips.rule_set import RuleSet
from tabsoda.survey import Survey

HERE = Path(__file__).resolve().parent
_SAMPLE_ROWS = 2000


def main() -> None:
    parser = argparse.ArgumentParser(description="Score tabsoda on real survey files.")
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--no-impute", action="store_true")
    parser.add_argument("--details", action="store_true")
    parser.add_argument("--results", type=Path, default=HERE / "results.json")
    chosen = parser.parse_args()
    found = files_in(chosen.folders or environment_folders())
    judgements = [j for j in load_all() if not chosen.only or j.name in chosen.only]
    for judgement in judgements:
        if judgement.name not in found:
            print(f"{judgement.name}: not found, left out", file=sys.stderr)
            continue
        print(f"{judgement.name} ...", file=sys.stderr, flush=True)
        result = measure(judgement, found[judgement.name], impute=not chosen.no_impute)
        if judgement.facts["set"] == "heldout" and not chosen.details:
            result = without_details(result)
        keep(chosen.results, judgement.name, result)
    write_readme(HERE)


def environment_folders() -> list[Path]:
    """Return the folders named in TABSODA_REAL_FILES."""
    named = os.environ.get("TABSODA_REAL_FILES", "")
    return [Path(folder) for folder in named.split(os.pathsep) if folder]


def files_in(folders: list[Path]) -> dict[str, Path]:
    """Return the judged files that the folders hold, by name; stop where there are none."""
    found = {
        judgement.name: folder / judgement.name / judgement.facts["file"]
        for folder in folders
        for judgement in load_all()
        if (folder / judgement.name / judgement.facts["file"]).is_file()
    }
    if not found:
        print(
            "No judged file was found. Give the folders that hold them, or set "
            "TABSODA_REAL_FILES; judged/*.toml says where each file is published.",
            file=sys.stderr,
        )
        sys.exit(2)
    return found


def measure(judgement: Judgement, data: Path, *, impute: bool) -> dict[str, Any]:
    """Score one file; what fails is recorded, not raised."""
    result: dict[str, Any] = {**judgement.facts, "commit": commit()}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        sample, rules = data, folder / "rules.toml"
        survey = attempt(result, "read", lambda: read_survey(data))
        if survey is None and data.suffix.lower() == ".csv":
            # Web forms often repeat a heading; go on with the names made distinct.
            data = sample = with_distinct_names(data, folder)
            survey = attempt(result, "read with distinct names", lambda: read_survey(data))
        if survey is not None:
            names = column_names(data)
            occurring = codes_by_column(data, [column.name for column in judgement.columns])
            result |= score_description(survey, judgement, names, occurring)
            sample = sample_file(survey, data, folder)
        steps = {"inspect", "mine", "check"} | ({"impute", "export"} if impute else set())
        result["steps"] = run_workflow(data, folder, sample, steps)
        if rules.exists():
            result["gates"] = score_gates(RuleSet.from_toml(rules).rules, judgement.gates)
        if survey is not None and judgement.skips is not None:
            result["cells"] = attempt(result, "cells", lambda: skip_cells(survey, judgement))
    return result


def sample_file(survey: Survey, data: Path, folder: Path) -> Path:
    """Return the file itself, or its first rows as a table where it is long."""
    if survey.frame.height <= MAX_ROWS:
        return data
    path = folder / "sample.parquet"
    survey.frame.head(_SAMPLE_ROWS).write_parquet(path)
    return path


def skip_cells(survey: Survey, judgement: Judgement) -> dict[str, Any]:
    """Mine with skip codes made blank, and compare with what the codes say."""
    assert judgement.skips is not None
    states, truth, scored = masked_states(survey, judgement.skips)
    start = time.perf_counter()
    mined = SkipMiner().mine(survey.table.with_states(states))
    seconds = round(time.perf_counter() - start, 1)
    scores = score_cells(mined.states.skipped[:, scored], truth[:, scored])
    gates = score_gates(mined.rules, judgement.gates)
    return {**scores, "columns": len(scored), "seconds": seconds, "gates": gates}


def attempt(result: dict[str, Any], name: str, work: Any) -> Any:
    """Do the work; where it raises, record why and return None."""
    try:
        return work()
    except Exception as error:  # Any failure on a real file is a finding.
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(where.filename).name}:{where.lineno}"
        failures = result.setdefault("failures", {})
        failures[name] = f"{type(error).__name__} ({place}): {error}"[:600]
        return None


def commit() -> str:
    """Return the commit that was measured, or an empty text outside a repository."""
    source = Path(sys.modules["tabsoda"].__file__ or "").parent
    if (source.parent / "COMMIT").is_file():
        return (source.parent / "COMMIT").read_text(encoding="utf-8").strip()
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=source, capture_output=True, text=True
    )
    return done.stdout.strip()


def without_details(result: Any) -> Any:
    """Return counts without the names of the columns that were wrong, at any depth.

    Nobody should fit the guesses to the held-out files, so that their errors are not published.
    """
    if not isinstance(result, dict):
        return result
    return {
        key: without_details(value)
        for key, value in result.items()
        if not (isinstance(value, dict) and key in ("wrong", "false", "columns"))
    }


def keep(path: Path, name: str, result: dict[str, Any]) -> None:
    """Put one file's result among the others."""
    content = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    content[name] = result
    text = json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
