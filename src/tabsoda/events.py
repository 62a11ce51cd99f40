"""Every automatic decision, one row each, kept with the result.

Input: decisions taken anywhere in the pipeline. Output: a list a person can read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True)
class Event:
    """One automatic decision.

    Attributes
    ----------
    stage : str
        Where it was taken: ``"read"``, ``"describe"``, ``"states"``, ``"skips"``, ``"encode"``,
        ``"train"``, ``"impute"``, ``"routing"``.
    decision : str
        What was decided, in a few words that do not vary from row to row, such as
        ``"ordinal encoded as bits"``.
    column : str or None
        The column it concerns.
    detail : str
        Why, with the numbers it rests on.
    """

    stage: str
    decision: str
    column: str | None = None
    detail: str = ""


@dataclass
class EventLog:
    """Collects events in the order they happen.

    Examples
    --------
    >>> log = EventLog()
    >>> log.add("encode", "ordinal encoded as bits", column="Q7", detail="91 % answered 'never'")
    >>> [event.column for event in log]
    ['Q7']
    """

    events: list[Event] = field(default_factory=list)

    def add(
        self, stage: str, decision: str, *, column: str | None = None, detail: str = ""
    ) -> None:
        """Append one event."""
        self.events.append(Event(stage, decision, column, detail))

    def extend(self, other: EventLog) -> None:
        """Append all events of another log."""
        self.events.extend(other.events)

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)

    def to_dicts(self) -> list[dict[str, str | None]]:
        """Return the events as plain dictionaries, ready for JSON."""
        return [asdict(event) for event in self.events]
