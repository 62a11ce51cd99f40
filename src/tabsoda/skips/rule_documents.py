"""The structure of a rules file, validated before rules are built from it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tabsoda.errors import InputError

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]
Text = Annotated[str, Field(min_length=1)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Answer = int | float | str


class _Entry(BaseModel):
    # Strict, so that a level "1" is never silently read as 1.
    model_config = ConfigDict(extra="forbid", strict=True)


class ConditionDocument(_Entry):
    """One gate of a rule."""

    gate: Text
    is_: list[Answer] = Field(default=[], alias="is")
    above: Finite | None = None
    up_to: Finite | None = None
    or_skipped: bool = False
    or_blank: bool = False
    reasons: list[Literal["refused", "dont_know", "other"]] = []


class CountsDocument(_Entry):
    """The 2x2 table of a rule."""

    fired_blank: Count = 0
    fired_answered: Count = 0
    silent_blank: Count = 0
    silent_answered: Count = 0


class DecisionDocument(_Entry):
    """A decision on a rule: what was done, by whom and when."""

    did: Text
    by: str
    at: str
    why: str = ""
    before: str = ""


class RivalDocument(_Entry):
    """Other conditions that fit as well as a rule's own."""

    when: list[list[ConditionDocument]]
    sentence: str = ""
    fired_blank: Count = 0
    fired_answered: Count = 0


class RuleDocument(_Entry):
    """One ``[[rule]]``; all but the first fields are optional."""

    id: Text
    target: Text
    when: list[list[ConditionDocument]]
    sentence: str = ""
    status: Literal["proposed", "approved", "rejected"] = "proposed"
    note: str = ""
    by: str = ""
    at: str = ""
    history: list[DecisionDocument] = []
    rivals: list[RivalDocument] = []
    extended_from: str | None = None
    counts: CountsDocument = CountsDocument()
    answered_upper: Share = 1.0
    false_positive_upper: Share = 1.0
    false_negative_upper: Share = 1.0
    p_value: Share = 1.0
    q_value: Share = 1.0
    coverage: Share = 0.0


class ColumnDocument(_Entry):
    """One ``[[column]]``."""

    name: Text
    kind: Literal["continuous", "nominal", "ordinal"]
    label: str = ""
    universe: str = ""
    levels: list[Answer] = []
    labels: list[str] = []

    @model_validator(mode="after")
    def _one_label_per_level(self) -> ColumnDocument:
        if self.labels and len(self.labels) != len(self.levels):
            raise ValueError(f"one label for each of the {len(self.levels)} levels")
        return self


class MinedDocument(_Entry):
    """Where the rules come from."""

    source: str = ""
    n_rows: Count = 0
    screen: str = ""
    version: str = ""
    settings: dict[str, Any] = {}


class AbsenceDocument(_Entry):
    """When a skip is withheld because the respondent was absent."""

    quiet_run: Annotated[int, Field(ge=1)]
    max_present_share: Share


class RulesDocument(_Entry):
    """A whole rules file."""

    format: int
    mined: MinedDocument = MinedDocument()
    absence: AbsenceDocument | None = None
    rule: list[RuleDocument] = []
    column: list[ColumnDocument] = []


def parse_document(content: dict[str, Any], file: str, newest_format: int) -> RulesDocument:
    """Validate the content of a rules file and return it as a typed document.

    Parameters
    ----------
    content : dict
        The parsed TOML.
    file : str
        The file's name, for messages.
    newest_format : int
        The newest format that this version understands.
    """
    found = content.get("format")
    if not isinstance(found, int) or not 1 <= found <= newest_format:
        raise InputError(
            f"The file '{file}' is not a rules file that this version can read",
            found="no 'format'" if found is None else f"format = {found!r}",
            expected=f"format = {newest_format}",
            next_step="Check that it is the file written by tabsoda mine -o, or update tabsoda",
        )
    try:
        return RulesDocument.model_validate(content)
    except ValidationError as error:
        raise _explain(error, content, file) from error


def _explain(error: ValidationError, content: dict[str, Any], file: str) -> InputError:
    first = error.errors()[0]
    place = list(first["loc"])
    subject = ""
    if len(place) >= 2 and place[0] in ("rule", "column") and isinstance(place[1], int):
        section, number = str(place[0]), place[1]
        place = place[2:]
        entry = content[section][number]
        name = entry.get("id" if section == "rule" else "name") if isinstance(entry, dict) else None
        subject = f"{section} {name!r}" if name else f"the {section} no. {number + 1}"
    # pydantic includes union members in the location; only keys of the file help the reader.
    known = [str(part + 1) if isinstance(part, int) else part for part in place]
    field = ".".join(part for part in known if part not in ("int", "float", "str"))
    where = " of ".join(part for part in (f"the field '{field}'" if field else "", subject) if part)
    if first["type"] == "missing":
        wrong, expected = "nothing", "a value"
    elif first["type"] == "extra_forbidden":
        wrong, expected = "a field that does not exist", "the fields that tabsoda mine -o writes"
    else:
        wrong, expected = repr(first["input"]), first["msg"].removeprefix("Value error, ")
    return InputError(
        f"The rules file '{file}' is wrong at {where or 'its top level'}",
        found=wrong if len(wrong) < 200 else wrong[:200] + "...",
        expected=expected.removeprefix("Input should be "),
        next_step="Correct that field",
    )
