"""The routing rules of one survey, and how to apply, change and save them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabsoda.errors import InputError
from tabsoda.schema.column import Column
from tabsoda.skips.presence import Absence
from tabsoda.skips.rule_checks import check_rules
from tabsoda.skips.rules import Decision, RuleStatus, SkipRule, targets_of
from tabsoda.skips.sentences import rule_sentence
from tabsoda.states.cell_states import CellStates
from tabsoda.table import CodedTable

if TYPE_CHECKING:
    from tabsoda.skips.graph import RoutingGraph
    from tabsoda.skips.miner import MinedSkips

# Which rules: one identifier, several, or a predicate.
Selection = str | Iterable[str] | Callable[[SkipRule], bool]


@dataclass(frozen=True)
class Provenance:
    """Where rules come from.

    Attributes
    ----------
    source : str
        The file they were mined from.
    n_rows : int
    screen : str
    version : str
        The version of this package.
    settings : dict of str to number, text or None
        The miner's settings, with defaults filled in.
    """

    source: str = ""
    n_rows: int = 0
    screen: str = ""
    version: str = ""
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RuleSet:
    """Routing rules in questionnaire order; immutable, so every change returns a new set.

    Attributes
    ----------
    rules : tuple of SkipRule
        In the order of their targets in the questionnaire.
    columns : tuple of Column
        The questionnaire's columns in order. Those that no rule mentions are dropped, and of the
        others only what describes their answers is kept.
    provenance : Provenance
    absence : Absence or None
        When a skip is withheld because the respondent was absent, as the miner does; None marks
        every blank on which a rule fires.

    Examples
    --------
    >>> from tabsoda.schema import ColumnKind
    >>> from tabsoda.skips.rules import Condition
    >>> smoked = Column("AC1002", ColumnKind.NOMINAL, (1, 2), level_labels={1: "Yes", 2: "No"})
    >>> often = Column("AC1003", ColumnKind.NOMINAL, (1, 2, 3))
    >>> rule = SkipRule("r001", "AC1003", ((Condition("AC1002", (2,)),),))
    >>> rules = RuleSet((rule,), (smoked, often))
    >>> rules.sentences()
    ("AC1003 is skipped when AC1002 is 2 'No'",)
    >>> rules.approve("r001")["r001"].status.value
    'approved'
    """

    rules: tuple[SkipRule, ...]
    columns: tuple[Column, ...]
    provenance: Provenance = field(default_factory=Provenance)
    absence: Absence | None = None

    def __post_init__(self) -> None:
        order = {column.name: position for position, column in enumerate(self.columns)}
        if len(order) < len(self.columns):
            names = [column.name for column in self.columns]
            raise InputError(
                "is described twice among the rules",
                column=next(name for name in names if names.count(name) > 1),
                expected="each column once",
                next_step="Remove one of the descriptions",
            )
        check_rules(self.rules, {column.name: column for column in self.columns}, order)
        rules = sorted(self.rules, key=lambda rule: order[rule.target])
        used = {name for rule in rules for name in (rule.target, *rule.gates)}
        used |= {name for rule in rules for rival in rule.rivals for name in rival.gates}
        columns = tuple(_describe(column) for column in self.columns if column.name in used)
        object.__setattr__(self, "rules", tuple(rules))
        object.__setattr__(self, "columns", columns)

    def __iter__(self) -> Iterator[SkipRule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def __getitem__(self, identifier: str) -> SkipRule:
        for rule in self.rules:
            if rule.identifier == identifier:
                return rule
        raise KeyError(identifier)

    @property
    def active(self) -> tuple[SkipRule, ...]:
        """The rules that are not rejected."""
        return tuple(rule for rule in self.rules if rule.status is not RuleStatus.REJECTED)

    @property
    def targets(self) -> tuple[str, ...]:
        """The columns that a rule skips, each once, in questionnaire order."""
        return targets_of(self.active)

    @property
    def column_of(self) -> dict[str, Column]:
        """The columns by name."""
        return {column.name: column for column in self.columns}

    def sentence(self, rule: SkipRule) -> str:
        """Return one rule as a sentence, in the words of the value labels."""
        return rule_sentence(rule, self.column_of)

    def sentences(self) -> tuple[str, ...]:
        """Return every rule as a sentence, in questionnaire order."""
        columns = self.column_of
        return tuple(rule_sentence(rule, columns) for rule in self.rules)

    def table(self) -> list[dict[str, Any]]:
        """Return one plain dictionary per rule, ready for JSON or a data frame."""
        from tabsoda.skips.rule_files import rule_to_dict

        columns = self.column_of
        return [rule_to_dict(rule, columns) for rule in self.rules]

    def approve(
        self, where: Selection | None = None, note: str | None = None, *, by: str | None = None
    ) -> RuleSet:
        """Return a set in which the chosen rules are approved: by default, all but rejected ones.

        Parameters
        ----------
        where : str, iterable of str, or callable, optional
            Identifiers, or a function of a rule, such as
            ``lambda rule: rule.evidence.answered_upper < 0.01``.
        note : str, optional
            Why.
        by : str, optional
            Who; the decision is then recorded with the time.
        """
        if where is None:
            where = [rule.identifier for rule in self.active]
        return self._mark(where, RuleStatus.APPROVED, note, by)

    def reject(
        self, where: Selection, note: str | None = None, *, by: str | None = None
    ) -> RuleSet:
        """Return a set in which the chosen rules are rejected: kept and shown, never applied."""
        return self._mark(where, RuleStatus.REJECTED, note, by)

    def choose_rival(
        self, identifier: str, index: int, *, by: str = "", note: str | None = None
    ) -> RuleSet:
        """Return a set in which a rule is exchanged with one of its rivals.

        The rule takes the rival's conditions and counts and has to be approved again; its former
        conditions become the rival. The decision is recorded as an edit.

        Parameters
        ----------
        identifier : str
        index : int
            The rival's index in ``rule.rivals``.
        by : str
            Who.
        note : str, optional
            Why. If not given, the rule keeps its note.

        Examples
        --------
        >>> from tabsoda.schema import ColumnKind
        >>> from tabsoda.skips.rules import Condition, Rival
        >>> form, half = (Column(name, ColumnKind.NOMINAL, (1, 2)) for name in ("FORM", "A"))
        >>> other = Rival(((Condition("FORM", (1,)),),), fired_blank=50)
        >>> rule = SkipRule("r001", "B", ((Condition("A", (1, 2)),),), rivals=(other,))
        >>> rules = RuleSet((rule,), (form, half, Column("B", ColumnKind.NOMINAL, (1, 2))))
        >>> rules.choose_rival("r001", 0, by="Ann").sentences()
        ('B is skipped when FORM is 1',)
        """
        from tabsoda.skips.rivals import exchanged

        self._require([identifier])
        rule = self[identifier]
        changed = exchanged(rule, index)
        decision = Decision("edited", by, time_stamp(), note or "", self.sentence(rule))
        changed = replace(changed, note=rule.note if note is None else note)
        return self.with_rules([changed.signed(decision)])

    def with_rules(self, changed: Iterable[SkipRule]) -> RuleSet:
        """Return a set in which rules are replaced by those given with the same identifiers."""
        new = {rule.identifier: rule for rule in changed}
        return replace(self, rules=tuple(new.get(rule.identifier, rule) for rule in self.rules))

    def _mark(
        self, where: Selection, status: RuleStatus, note: str | None, by: str | None
    ) -> RuleSet:
        if callable(where):
            chosen = {rule.identifier for rule in self.rules if where(rule)}
        else:
            chosen = {where} if isinstance(where, str) else set(where)
            self._require(chosen)
        marked = [
            replace(rule, status=status, note=rule.note if note is None else note)
            for rule in self.rules
            if rule.identifier in chosen
        ]
        if by is not None:
            decision = Decision(status.value, by, time_stamp(), note or "")
            marked = [rule.signed(decision) for rule in marked]
        return self.with_rules(marked)

    def _require(self, identifiers: Iterable[str]) -> None:
        unknown = sorted(set(identifiers) - {rule.identifier for rule in self.rules})
        if unknown:
            raise InputError(
                f"There is no rule '{unknown[0]}'",
                expected=f"one of {len(self.rules)} identifiers such as "
                + ", ".join(repr(rule.identifier) for rule in self.rules[:3]),
                next_step="List them with RuleSet.table()",
            )

    def apply(self, table: CodedTable) -> CellStates:
        """Mark the cells that the rules skip in a table of the same survey.

        Goes forward through the questionnaire, so that a skip carries over to questions that
        depend on the skipped one. Rejected rules are ignored. A cell that was answered, refused or
        answered with "don't know" was asked and is never marked; skips already known are kept.

        With ``absence``, skips of absent respondents are withheld at the end: on the table the
        rules were mined from, the result is the miner's. Absence is judged over all respondents
        and questions, in the table's order. In a small table (fewer than 73 rows by default) it
        cannot be detected, so nothing is withheld, and a subset of the rows or columns can have a
        few more skips than the whole table.
        """
        from tabsoda.skips.forward import route

        return route(self, table).states

    def graph(self) -> RoutingGraph:
        """Return the routing graph, for drawing."""
        from tabsoda.skips.graph import RoutingGraph

        return RoutingGraph.of(self)

    def _repr_html_(self) -> str:
        from tabsoda._internal.notebook import rules_html

        return rules_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, structured as in the rules file; ready for JSON."""
        from tabsoda.skips.rule_files import to_document

        return to_document(self)

    def to_toml(self, path: str | Path) -> None:
        """Save as a rules file that a person can read, edit and sign; see :meth:`from_toml`."""
        from tabsoda._internal.files import write_text
        from tabsoda.skips.rule_files import dump_rules

        write_text(Path(path), dump_rules(self))

    @classmethod
    def from_mined(
        cls, mined: MinedSkips, columns: tuple[Column, ...], provenance: Provenance | None = None
    ) -> RuleSet:
        """Return the set of mined rules; applied to the same table, it gives the mined states."""
        return cls(mined.rules, columns, provenance or Provenance(), mined.absence)

    @classmethod
    def from_toml(cls, path: str | Path) -> RuleSet:
        """Read a rules file; what was saved comes back unchanged."""
        from tabsoda.skips.rule_files import load_rules

        return load_rules(Path(path))


def time_stamp() -> str:
    """Return the current time as recorded with decisions: ISO 8601, to the second, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _describe(column: Column) -> Column:
    """Keep the description of a column's answers, without special codes and their labels."""
    labels = {level: column.level_labels.get(level, "") for level in column.levels}
    return Column(
        column.name,
        column.kind,
        column.levels,
        column.label,
        {level: label for level, label in labels.items() if label},
        universe=column.universe,
    )
