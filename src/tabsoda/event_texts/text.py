"""What is known of a kind of event: its stage and its texts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EventText:
    """The texts of one kind of event.

    Attributes
    ----------
    stage : str
        Where the decision is taken: ``"read"``, ``"describe"``, ``"states"``, ``"skips"``,
        ``"encode"``, ``"train"``, ``"impute"``, ``"routing"``, ``"export"`` or ``"diagnose"``.
    heading : str
        What was decided, in a few words that are the same for all columns.
    detail : str
        Why, and the numbers, as a template; see :mod:`tabsoda.event_texts.template`.
    """

    stage: str
    heading: str
    detail: str = ""
