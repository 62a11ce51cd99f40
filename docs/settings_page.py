"""Write ``docs/settings.md`` from the settings themselves: ``python docs/settings_page.py``."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from tabsoda.engine.presets import QUALITIES
from tabsoda.engine.settings import EngineSettings
from tabsoda.paper.presets import PRESETS
from tabsoda.paper.settings import PaperSettings
from tabsoda.settings_base import SettingsBase, bounds_text

PAGE = Path(__file__).resolve().with_name("settings.md")
SHOWN = ("fast", "balanced", "best")
OPENING = """# Settings

The settings of the two engines, and what each quality and preset chooses. `fast`, `balanced` (the
default) and `best` are [qualities](guides/quality.md) of the default engine. The tables show their
values before they are adapted to the size of a survey, which changes the steps, the network, the
trees and the regressions. `path` and `nsduh` run the paper's engine with the paper's settings, and
`small` runs it on a laptop. A fourth quality, `tiny`, is for tests and first tries; it is not shown
here. In Python:

```python
from tabsoda import TabSODAImputer

TabSODAImputer(quality="fast", settings={"training": {"max_steps": 500}})
TabSODAImputer(preset="path", settings={"em": {"rounds": 2}})
```

On the command line: `tabsoda impute ... --quality fast --set training.max_steps=500`. The values a
run used are in its `settings.json`.

`docs/settings_page.py` writes this page. To change a setting, edit `src/tabsoda/engine/settings.py`
and the qualities in `src/tabsoda/engine/presets.py`, or `src/tabsoda/paper/settings.py` and the
presets in `src/tabsoda/paper/presets.py`.
"""


def page() -> str:
    """Return the page."""
    default = {name: EngineSettings().replace(**QUALITIES[name]) for name in SHOWN}
    paper = {name: PaperSettings.preset(name) for name in PRESETS}
    parts = [OPENING, "## The default engine\n", *_groups(default)]
    return "\n".join([*parts, "## The paper's engine\n", *_groups(paper)])


def _groups(chosen: Mapping[str, SettingsBase]) -> list[str]:
    """Return a table for every group of settings, with a column for every name."""
    parts = []
    for group in fields(next(iter(chosen.values()))):
        members = [getattr(settings, group.name) for settings in chosen.values()]
        parts.append(f"### {group.name}\n\n{inspect.getdoc(type(members[0]))}\n")
        heading = f"| setting | {' | '.join(chosen)} | meaning | allowed |"
        rows = [heading, "| --- | " + "--- | " * len(chosen) + "--- | --- |"]
        for item in fields(members[0]):
            values = " | ".join(f"`{_text(getattr(member, item.name))}`" for member in members)
            meaning = _cell(item.metadata["meaning"])
            rows.append(f"| `{item.name}` | {values} | {meaning} | {_allowed(item)} |")
        parts.append("\n".join(rows) + "\n")
    return parts


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_text, value))
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _allowed(item: Field[Any]) -> str:
    choices = item.metadata["choices"]
    if choices is not None:
        return ", ".join(f"`{choice}`" for choice in choices)
    if isinstance(item.default, bool):
        return "`true`, `false`"
    text = bounds_text(item) or "any number"
    return f"{text}, or `none`" if item.default is None else text


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
