"""Every automatic decision, as data: what kind it is, which column it concerns, and its numbers.

Input: decisions taken anywhere in the pipeline. Output: a list that is kept with the result;
:mod:`tabsoda.event_texts` writes its sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

# A decision that a version before events were data recorded as texts.
EARLIER_VERSION = "earlier_version"
_EARLIER_FIELDS = ("stage", "decision", "detail")


@dataclass(frozen=True)
class Event:
    """One automatic decision.

    Attributes
    ----------
    kind : str
        What was decided, an identifier such as ``"ordinal_encoded_as_bits"``. The kinds and their
        texts are listed in :mod:`tabsoda.event_texts`.
    column : str or None
        The column it concerns.
    counts : mapping of str to value
        The numbers and names that the decision depends on: plain numbers, short texts, and tuples
        of them (lists become tuples). It cannot be changed.

    Examples
    --------
    >>> event = Event("ordinal_encoded_as_bits", "Q7", {"share": 0.91, "limit": 0.9})
    >>> event.counts["share"]
    0.91
    >>> Event.from_dict(event.to_dict()) == event
    True

    As a sentence:

    >>> from tabsoda.event_texts import sentence
    >>> sentence(event)
    'Q7: ordinal encoded as bits (91.0% of its visible answers are one level; the limit is 90%)'
    """

    kind: str
    column: str | None = None
    counts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        plain = {key: _plain(value) for key, value in self.counts.items()}
        object.__setattr__(self, "counts", MappingProxyType(plain))

    def __hash__(self) -> int:
        return hash((self.kind, self.column, tuple(sorted(self.counts.items()))))

    def __reduce__(self) -> tuple[type[Event], tuple[str, str | None, dict[str, Any]]]:
        # The view that protects the counts can be neither copied nor pickled.
        return Event, (self.kind, self.column, dict(self.counts))

    def to_dict(self) -> dict[str, Any]:
        """Return ``kind``, ``column`` and ``counts``, ready for JSON."""
        counts = {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in self.counts.items()
        }
        return {"kind": self.kind, "column": self.column, "counts": counts}

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> Event:
        """Read an event; the texts of an earlier version are kept as they are.

        Examples
        --------
        >>> old = {"stage": "train", "decision": "device chosen", "column": None, "detail": "cpu"}
        >>> Event.from_dict(old).kind
        'earlier_version'
        """
        if "kind" in entry:
            return cls(entry["kind"], entry["column"], dict(entry["counts"]))
        counts = {name: entry[name] for name in _EARLIER_FIELDS}
        return cls(EARLIER_VERSION, entry["column"], counts)


@dataclass
class EventLog:
    """Collects events in the order they happen.

    Examples
    --------
    >>> log = EventLog()
    >>> log.add("ordinal_encoded_as_bits", column="Q7", share=0.91, limit=0.9)
    >>> log.add("empty_lines_dropped", lines=2)
    >>> [(event.kind, event.column) for event in log]
    [('ordinal_encoded_as_bits', 'Q7'), ('empty_lines_dropped', None)]
    >>> log.to_dicts()[1]
    {'kind': 'empty_lines_dropped', 'column': None, 'counts': {'lines': 2}}
    >>> EventLog.from_dicts(log.to_dicts()) == log
    True
    """

    events: list[Event] = field(default_factory=list)

    def add(self, kind: str, /, *, column: str | None = None, **counts: Any) -> None:
        """Append one event.

        Parameters
        ----------
        kind : str
        column : str, optional
        **counts
            What the sentence of this kind needs; those that are None are left out.
        """
        known = {name: value for name, value in counts.items() if value is not None}
        self.events.append(Event(kind, column, known))

    def extend(self, other: EventLog) -> None:
        """Append all events of another log."""
        self.events.extend(other.events)

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the events as plain dictionaries, ready for JSON."""
        return [event.to_dict() for event in self.events]

    @classmethod
    def from_dicts(cls, entries: Iterable[Mapping[str, Any]]) -> EventLog:
        """Read what :meth:`to_dicts` returned, or what an earlier version saved."""
        return cls([Event.from_dict(entry) for entry in entries])


def _plain(value: Any) -> Any:
    """Return a number or text without its library's type, and a list as a tuple."""
    if isinstance(value, list | tuple):
        return tuple(_plain(entry) for entry in value)
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int | float):
        return value
    raise TypeError(f"an event holds numbers, texts and lists of them, not {type(value).__name__}")
