"""What a sharded run says of itself: counts and decisions, summed over its shards."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabsoda._internal.files import write_json
from tabsoda.results.manifest import rounds_without_losses, run_manifest
from tabsoda.results.record import RECORD_FORMAT
from tabsoda.results.result_folder import SHARDS_FORMAT
from tabsoda.routing.record import RoutingRecord
from tabsoda.schema.files import save_schema

if TYPE_CHECKING:
    from tabsoda.imputer import TabSODAImputer
    from tabsoda.survey import InputFile


def build_manifest(
    options: dict[str, Any],
    inputs: dict[str, InputFile],
    imputer: TabSODAImputer,
    records: list[dict[str, Any]],
    seconds: float,
) -> dict[str, Any]:
    """Put the records of all shards together.

    Parameters
    ----------
    options : dict
        What made the run this run.
    inputs : dict of str to InputFile
    imputer : TabSODAImputer
        Fitted.
    records : list of dict
        One a shard.
    seconds : float
    """
    counts: Counter[str] = Counter()
    by_variable: Counter[str] = Counter()
    hashes: dict[str, str] = {}
    for record in records:
        counts.update(record["counts"])
        by_variable.update(record["imputed_by_variable"])
        hashes.update(record["outputs_sha256"])
    options = {key: value for key, value in options.items() if key not in inputs}
    return {
        **run_manifest(SHARDS_FORMAT, options, inputs, seconds),
        "settings": imputer.settings_,
        "counts": dict(counts),
        "imputed_by_variable": dict(by_variable),
        "outputs_sha256": hashes,
        "rounds": rounds_without_losses(imputer.history_),
        "shards": [
            {key: record[key] for key in ("number", "first_row", "last_row", "routing")}
            for record in records
        ],
        "routing": _routing(records),
        "events": [*imputer.events_.to_dicts(), *merged_events(records)],
    }


def write_shared_record(
    folder: Path, manifest: dict[str, Any], imputer: TabSODAImputer, questions: list[str]
) -> None:
    """Write what the record of a result holds beside its tables, which the shards wrote.

    Parameters
    ----------
    folder : Path
        Of the record.
    manifest : dict
    imputer : TabSODAImputer
    questions : list of str
    """
    if imputer.schema_ is None:
        raise TypeError("only a result that came from a survey can be recorded")
    save_schema(imputer.schema_, folder / "survey.toml")
    write_json(
        folder / "record.json",
        {
            "format": RECORD_FORMAT,
            "source": manifest["inputs"]["data"]["file"],
            "questions": questions,
            "settings": manifest["settings"],
            "history": imputer.history_,
            "events": manifest["events"],
            "survey_events": [],
            "routing": manifest["routing"],
        },
    )


def _routing(records: list[dict[str, Any]]) -> dict[str, Any] | None:
    found = [record["routing"] for record in records]
    if not found or found[0] is None:
        return None
    return RoutingRecord.together(RoutingRecord.from_dict(one) for one in found).to_dict()


def merged_events(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return each decision once, with the detail of the first shard that took it.

    Examples
    --------
    >>> event = {"stage": "impute", "decision": "clipped", "column": "age", "detail": "2 cells"}
    >>> merged_events([{"events": [event]}, {"events": [event]}])[0]["detail"]
    '2 cells; in the first of 2 shards'
    """
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for record in records:
        for event in record["events"]:
            key = (event["stage"], event["decision"], event["column"])
            found.setdefault(key, []).append(event)
    merged = []
    for events in found.values():
        first = dict(events[0])
        if len(events) > 1:
            shared = f"in the first of {len(events)} shards"
            first["detail"] = f"{first['detail']}; {shared}" if first["detail"] else shared
        merged.append(first)
    return merged
