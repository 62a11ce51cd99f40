"""Write the tables of README.md from results.json and results_before.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_INTRO = """# Real survey files, judged by hand

Survey files from public repositories, taken through `inspect`, `mine`, `check`, `impute` (fast, two
draws) and `export`. Up to 40 columns of each were drawn with a fixed seed (`draw.py`) and judged by
hand before tabsoda was run on the file: kind, role, order of scales, meaning of codes that are not
answers. `judged/*.toml` holds the judgements and where each file is published; no data and no
copies of files are kept here. Development files may be looked at while working on the guesses,
held-out files may not.

    python benchmarks/real_files/run.py FOLDER [FOLDER ...]

Columns of the tables:

* kinds: columns with a right kind, of those judged.
* order: ordinals in a wrong order, or with a code among the levels that is not an answer, of the
  columns proposed and judged as ordinal.
* roles: columns with a right role, of those judged; design: of all columns of the file that are
  identifiers, weights, strata, clusters or to be left alone.
* codes: codes that occur in the judged columns and are not answers (or look so) read with a right
  meaning; missing: codes that are not answers read as missing, whatever the reason.
* rules: mined from the file as it is proposed; gates: of the rules whose target was judged, those
  that name only judged gates.
* skip cells: where codes tell which cells are skips, those codes and the codes of refusal and the
  like are made blank, the rules mined, and the skips found compared with the codes.
* seconds: processor time of all steps. Failures are listed below each table.
"""

_HEADER = (
    "| file | format | language | size | kinds | order | roles | design | codes | missing | rules "
    "| gates | skip cells: precision, recall | seconds |\n" + "| --- " * 14 + "|"
)


def write_readme(folder: Path) -> None:
    """Write README.md in the folder."""
    parts = [_INTRO]
    for title, file in (("Now", "results.json"), ("Before", "results_before.json")):
        path = folder / file
        if path.exists():
            results = json.loads(path.read_text(encoding="utf-8"))
            parts.append(f"## {title} (`{file}`)\n")
            for kind, name in (("Development files", "dev"), ("Held-out files", "heldout")):
                chosen = [entry for entry in results.values() if entry["set"] == name]
                if chosen:
                    parts.append(f"### {kind}\n\n{table(chosen)}\n")
    (folder / "README.md").write_text("\n".join(parts), encoding="utf-8")


def table(results: list[Mapping[str, Any]]) -> str:
    """Return a Markdown table with one row per file and sums, then what was left out or failed."""
    rows = [_HEADER, *(_row(result) for result in results), _totals(results)]
    failures = [line for result in results for line in _failures(result)]
    partly = [result["name"] for result in results if "impute" not in result["steps"]]
    notes = [f"Without `impute` and `export`: {', '.join(partly)}."] if partly else []
    parts = [rows, *([part] for part in notes), *([failures] if failures else [])]
    return "\n\n".join("\n".join(part) for part in parts)


def _row(result: Mapping[str, Any]) -> str:
    cells = result.get("cells") or {}
    gates = result.get("gates") or {}
    seconds = [step.get("cpu_seconds") for step in result["steps"].values()]
    fields = [
        result["name"],
        result["format"],
        result["language"],
        f"{result['rows']:,} x {result['columns']}",
        _of(result.get("kinds")),
        _of(result.get("orders"), "wrong"),
        _of(result.get("roles")),
        _of(result.get("design")),
        _of(result.get("codes")),
        _of(result["missing"]) if "missing" in result else "",
        str(gates.get("rules", "")),
        f"{gates['true_gates']}/{gates['judged_rules']}" if gates.get("judged_targets") else "",
        f"{_share(cells['precision'])}, {_share(cells['recall'])}" if cells else "",
        "" if None in seconds else f"{sum(seconds):.0f}",
    ]
    return "| " + " | ".join(fields) + " |"


def _totals(results: list[Mapping[str, Any]]) -> str:
    def total(key: str, count: str = "right") -> str:
        found = [result[key] for result in results if result.get(key)]
        return f"{sum(entry[count] for entry in found)}/{sum(entry['of'] for entry in found)}"

    gates = [result["gates"] for result in results if result.get("gates")]
    named = [entry for entry in gates if entry["judged_targets"]]
    fields = [
        f"all {len(results)}",
        "",
        "",
        "",
        total("kinds"),
        total("orders", "wrong"),
        total("roles"),
        total("design"),
        total("codes"),
        total("missing") if any("missing" in result for result in results) else "",
        str(sum(entry["rules"] for entry in gates)),
        f"{sum(e['true_gates'] for e in named)}/{sum(e['judged_rules'] for e in named)}",
        "",
        "",
    ]
    return "| " + " | ".join(fields) + " |"


def _of(entry: Mapping[str, Any] | None, count: str = "right") -> str:
    return f"{entry[count]}/{entry['of']}" if entry else "failed"


def _share(number: float | None) -> str:
    return "none" if number is None else f"{number:.3f}"


def _failures(result: Mapping[str, Any]) -> list[str]:
    lines = [
        f"* {result['name']}, {step}: {why}" for step, why in result.get("failures", {}).items()
    ]
    lines += [
        f"* {result['name']}, `{step}`: {facts['failed']}"
        for step, facts in result["steps"].items()
        if "failed" in facts
    ]
    return lines
