"""Store the results of a study in one small file, from which tables are built."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tabsoda._internal.files import write_text
from tabsoda.bench.metrics.imputation_metrics import METRICS
from tabsoda.errors import InputError

_VERSION = 1
_SCOPES = ("all", "gates", "others")
_COUNTS = ("n_continuous", "n_nominal", "n_ordinal")
_NAMES = (*_COUNTS, *METRICS)


def write_results(path: Path, document: dict[str, Any]) -> None:
    """Write the results of a study.

    A JSON file with one line per cell. Values that cells share (settings, the machine, the names of
    the metrics) are written once. Reliability bins and the time of the harness are dropped; metrics
    keep all their digits, so that tables are reproduced exactly.

    Parameters
    ----------
    path : Path
    document : dict
        ``study``, ``cells`` and ``failures``.
    """
    groups: list[dict[str, Any]] = []
    machines: list[dict[str, Any]] = []
    rows = []
    for cell in document["cells"]:
        settings = {k: v for k, v in cell["settings"].items() if k != "replication"}
        row = [
            _place({"settings": settings, "shape": cell["shape"]}, groups),
            cell["settings"]["replication"],
            _place(cell["machine"], machines),
            cell["seconds"],
            cell["cells"]["hidden"],
            cell["cells"]["scored"],
            *([cell["metrics"][scope].get(name) for name in _NAMES] for scope in _SCOPES),
        ]
        rows.append(row)
    parts = {
        "version": _VERSION,
        "study": document.get("study", {}),
        "failures": document.get("failures", []),
        "metrics": _NAMES,
        "scopes": _SCOPES,
    }
    lists: dict[str, list[Any]] = {"machines": machines, "groups": groups, "cells": rows}
    lines = [f"{json.dumps(name)}: {_line(value)}" for name, value in parts.items()]
    lines += [
        f"{json.dumps(name)}: [\n" + ",\n".join(map(_line, value)) + "\n]"
        for name, value in lists.items()
    ]
    write_text(path, "{\n" + ",\n".join(lines) + "\n}\n")


def read_results(path: Path) -> dict[str, Any]:
    """Read the results of a study, as :func:`write_results` or ``Store.collect`` wrote them.

    Returns
    -------
    dict
        ``study``, ``cells`` and ``failures``, as :func:`write_results` takes them.
    """
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if "groups" not in content:
        return content
    if content["version"] != _VERSION:
        raise InputError(
            f"The results '{path.name}' are in a different format",
            found=f"version {content['version']}",
            expected=f"version {_VERSION}",
        )
    cells = []
    for place, replication, machine, seconds, hidden, scored, *scopes in content["cells"]:
        group = content["groups"][place]
        metrics = {
            scope: dict(zip(content["metrics"], values, strict=True))
            for scope, values in zip(content["scopes"], scopes, strict=True)
        }
        cells.append(
            {
                "settings": group["settings"] | {"replication": replication},
                "metrics": metrics,
                "cells": {"hidden": hidden, "scored": scored},
                "shape": group["shape"],
                "seconds": seconds,
                "machine": content["machines"][machine],
            }
        )
    return {"study": content["study"], "cells": cells, "failures": content["failures"]}


def _place(entry: dict[str, Any], entries: list[dict[str, Any]]) -> int:
    """Return the position of an entry in a list, after adding it if it is new."""
    if entry not in entries:
        entries.append(entry)
    return entries.index(entry)


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
