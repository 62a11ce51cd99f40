"""Writes the figures of results.json into docs/promises.md."""

from __future__ import annotations

import json
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "promises.md"
START, END = "<!-- campaign: start -->", "<!-- campaign: end -->"


def main() -> None:
    """Replace the table between the two marks."""
    found = json.loads((HERE / "results.json").read_text(encoding="utf-8"))
    lines = [
        f"{found['tries']:,} tries, {found['failures']:,} failures"
        f" (version {found['tabsoda']}, Python {found['python']}, {found['system']},"
        f" seed {found['seed']}, {found['part']} campaign):",
        "",
        "| what was done | tries | failures | commit |",
        "| --- | ---: | ---: | --- |",
    ]
    for group in found["groups"]:
        counts = f"{group['tries']:,} | {len(group['failures']):,}"
        lines.append(f"| {group['group']} | {counts} | {group['commit']} |")
    notes = [f"- {group['group']}: {note}" for group in found["groups"] for note in group["notes"]]
    if notes:
        lines += ["", "Not tried in this run:", "", *notes]
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(START)
    after = rest.split(END)[1]
    table = "\n".join(lines)
    PAGE.write_text(f"{before}{START}\n\n{table}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
