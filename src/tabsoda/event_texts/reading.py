"""Events of reading a file and describing its columns."""

from __future__ import annotations

from tabsoda.event_texts.template import EventText

_READ: dict[str, EventText] = {
    "encoding_given_by_byte_order_mark": EventText(
        "read", "encoding recognised", "{encoding}, by its byte order mark"
    ),
    "text_not_utf8": EventText(
        "read", "text is not UTF-8", "read as {encoding}; check names and labels with accents"
    ),
    "declared_encoding_not_used": EventText(
        "read",
        "texts are not in the encoding that the file declares",
        "read as {encoding}; check labels with accents",
    ),
    "delimiter_found": EventText(
        "read", "delimiter recognised", "{delimiter:quoted} instead of a comma"
    ),
    "empty_lines_dropped": EventText("read", "empty lines dropped", "{lines:line/lines}"),
    "decimal_commas_read": EventText(
        "read",
        "decimal commas read as decimal points",
        "{numbers:number/numbers} such as {example:quoted}",
    ),
    "column_without_name": EventText(
        "read", "column without a name", "column {position} is called {name:quoted}"
    ),
    "repeated_column_name": EventText(
        "read", "repeated column name", "column {position} is called {name:quoted}"
    ),
    "header_rows_read": EventText(
        "read", "header rows of an export read", "{program} writes {rows} of them"
    ),
    "sheet_read": EventText(
        "read", "one sheet of the workbook read", "{sheet:quoted}, the first with rows, of {sheets}"
    ),
    "missing_reasons_not_read": EventText(
        "read",
        "reasons for missing answers not read",
        "{ending} files are read without user-missing codes and letters; such cells are blank",
    ),
    "reader_not_limited": EventText(
        "read",
        "reader without a limit on memory",
        "this system cannot set one; the reader ran in {where}",
    ),
    "variables_chosen": EventText(
        "read",
        "variables chosen",
        "{continuous} continuous, {nominal} nominal, {ordinal} ordinal; asked for: {asked_for}",
    ),
}

_DESCRIBE: dict[str, EventText] = {
    "several_answers_split": EventText(
        "read",
        "several answers per cell split",
        "{options} columns, one per option, at {separator}[; not options: {others:quoted}]",
    ),
    "boxes_coded": EventText(
        "states",
        "boxes of a select-all question coded",
        "{question:quoted}, {boxes:box/boxes}: {answered:respondent/respondents} answered it, "
        "so their blank boxes are 0; {blank:respondent/respondents} ticked none: no answer",
    ),
    "codebook_used": EventText(
        "describe",
        "codebook used",
        "{columns} of {of_columns:column/columns}; "
        "{not_in_data:of its entries is/of its entries are} not in the data",
    ),
    "column_described": EventText(
        "describe", "column described", "[{role}, ]{taken_as}[, {confidence}][: {note}]"
    ),
    "column_guessed": EventText(
        "describe", "column described by guess", "[{role}, ]{taken_as}[, {confidence}][: {note}]"
    ),
    "role_guessed": EventText("describe", "role guessed", "{role}[: {note}]"),
    "declared_kind_not_used": EventText(
        "describe",
        "level of measurement differs from the file's",
        "the file declares it {declared}, taken as {taken_as}[: {note}]",
    ),
    "column_not_described": EventText(
        "describe", "column not described", "kept as it is; neither mined nor imputed"
    ),
    "correction_applied": EventText(
        "describe", "correction applied", "{where}: {changed:column/columns} changed[: {columns}]"
    ),
    "levels_taken_from_type": EventText(
        "describe",
        "levels taken from the column's type",
        "the description lists none; the order is that of the type",
    ),
    "levels_taken_from_data": EventText(
        "describe",
        "levels taken from the data",
        "{levels:level/levels}; the description lists none",
    ),
    "code_kept_as_answer": EventText(
        "describe",
        "code kept as an answer",
        "{code:quoted} is user-missing in the file but a level of the description",
    ),
    "codes_taken_as_no_answer": EventText(
        "describe", "codes taken as no answer", "{codes:with reasons}"
    ),
    "file_codes_applied": EventText(
        "describe", "user-missing codes of the file applied", "{codes:with reasons}"
    ),
    "code_in_several_columns": EventText(
        "describe",
        "code for no answer in several columns",
        "{code} means {reason} in {columns:column/columns}[, labelled {label:quoted}]"
        "[, {unlabelled} of them without a label for it ({unlabelled_columns})]",
    ),
    "code_with_several_meanings": EventText(
        "describe",
        "code with several meanings",
        "{code} means {meanings:with columns, column/columns}[, the rarer ones in {rare_columns}]",
    ),
    "label_may_mean_no_answer": EventText(
        "describe",
        "label may mean no answer",
        "{codes:with labels}, perhaps {reasons}; counted as an answer",
    ),
}

# What deserves a look in the answers themselves.
_ANSWERS: dict[str, EventText] = {
    "column_all_blank": EventText("describe", "all blank", "no row holds an answer"),
    "column_constant": EventText("describe", "constant", "{answers:equal answer/equal answers}"),
    "column_id_like": EventText(
        "describe",
        "id-like",
        "{levels:level/levels} in {answers:answer/answers}; give it the role id",
    ),
    "column_with_very_many_levels": EventText(
        "describe",
        "very many levels",
        "{levels:level/levels}; group them, call the column continuous, or give it another role",
    ),
    "text_among_numbers": EventText(
        "describe",
        "text among numbers",
        "{texts:quoted}; list as a code each one that is not an answer",
    ),
    "suspicious_codes": EventText(
        "describe",
        "suspicious codes",
        "{codes:with answers, answer/answers}; counted as answers, but may mean no answer",
    ),
    "repeated_ids": EventText(
        "describe",
        "repeated ids",
        "{different} different in {rows:row/rows}; {example} occurs {times:time/times}",
    ),
    "weights_not_numeric": EventText(
        "describe",
        "weights are not numbers",
        "{cells} of {of_cells:cell/cells}, such as {example:quoted}",
    ),
    "blank_words_found": EventText(
        "states",
        "words taken as an empty cell",
        "{words:with cells, cell/cells}[, {different} different in all]",
    ),
    "unlisted_values_taken_as_missing": EventText(
        "states",
        "unlisted values taken as missing",
        "{values:with cells, cell/cells}[, {different} different in all]",
    ),
    "skips_taken_from_mask": EventText("states", "skips taken from a mask", "{cells:cell/cells}"),
}

READING = _READ | _DESCRIBE | _ANSWERS
