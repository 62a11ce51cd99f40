"""The manifest of a sharded run: counts and decisions, summed over its shards."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabsoda._internal.files import write_json
from tabsoda.edits.record import EditRecord
from tabsoda.event_texts import FIRST_OF_SHARDS, to_dicts_with_text
from tabsoda.events import Event, EventLog
from tabsoda.results.manifest import RECORD_FORMAT, rounds_without_losses, run_manifest
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
    """Combine the records of all shards.

    Parameters
    ----------
    options : dict
        The options of the run.
    inputs : dict of str to InputFile
    imputer : TabSODAImputer
        Fitted.
    records : list of dict
        One per shard.
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
        "edits": _edits(records),
        "events": to_dicts_with_text([*imputer.events_, *merged_events(records)]),
    }


def write_shared_record(
    folder: Path, manifest: dict[str, Any], imputer: TabSODAImputer, questions: list[str]
) -> None:
    """Write the parts of the record other than its tables, which the shards wrote.

    Parameters
    ----------
    folder : Path
        Folder of the record.
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
            "edits": manifest["edits"],
        },
    )


def _routing(records: list[dict[str, Any]]) -> dict[str, Any] | None:
    found = [record["routing"] for record in records]
    if not found or found[0] is None:
        return None
    return RoutingRecord.together(RoutingRecord.from_dict(one) for one in found).to_dict()


def _edits(records: list[dict[str, Any]]) -> dict[str, Any] | None:
    # Absent in shards that an earlier version finished.
    found = [record["edits"] for record in records if record.get("edits") is not None]
    return EditRecord.together(map(EditRecord.from_dict, found)).to_dict() if found else None


def merged_events(records: list[dict[str, Any]]) -> list[Event]:
    """Return each decision once, with the counts of the first shard that took it.

    Examples
    --------
    >>> event = Event("answers_clipped_for_network", "age", {"answers": 2}).to_dict()
    >>> [merged] = merged_events([{"events": [event]}, {"events": [event]}])
    >>> dict(merged.counts)
    {'answers': 2, 'first_of_shards': 2}
    """
    found: dict[tuple[str, str | None, int], list[Event]] = {}
    for record in records:
        # A shard may take a decision twice, such as for two reasons of a missing gate.
        times: Counter[tuple[str, str | None]] = Counter()
        for event in EventLog.from_dicts(record["events"]):
            times[event.kind, event.column] += 1
            key = event.kind, event.column, times[event.kind, event.column]
            found.setdefault(key, []).append(event)
    return [
        Event(kind, column, {**events[0].counts, FIRST_OF_SHARDS: len(events)})
        if len(events) > 1
        else events[0]
        for (kind, column, _), events in found.items()
    ]
