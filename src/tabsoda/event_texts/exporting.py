"""Events of exporting a result to another program."""

from __future__ import annotations

from tabsoda.event_texts.template import EventText

EXPORTING: dict[str, EventText] = {
    "column_renamed": EventText("export", "column renamed", "{program} gets {name:quoted}"),
    "texts_written_as_numbers": EventText(
        "export",
        "texts written as labelled numbers",
        "1 to {levels}, in the order of the description",
    ),
    "question_text_shortened": EventText(
        "export",
        "question's text shortened",
        "to {kept} of {characters:character/characters}",
    ),
    "label_shortened": EventText("export", "label shortened", "to {kept} of {bytes:byte/bytes}"),
    "label_left_out": EventText(
        "export", "label left out", "{code} {label:quoted}: Stata labels whole numbers only"
    ),
    "missing_codes_renumbered": EventText(
        "export", "missing codes renumbered", "{codes} became {new_codes}"
    ),
    "name_quoted": EventText("export", "name quoted with an apostrophe"),
    "texts_quoted": EventText(
        "export",
        "texts quoted with an apostrophe",
        "{cells:cell/cells} that a spreadsheet would run as formulas",
    ),
}
