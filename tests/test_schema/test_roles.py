"""What a column is, by name, label and values: cases that count and cases that resemble them."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

from tabsoda._internal.randomness import numpy_generator
from tabsoda.errors import InputError
from tabsoda.reading import read_survey
from tabsoda.reading.inspection import summarize
from tabsoda.schema import Column, ColumnRole
from tabsoda.schema.content import content_of
from tabsoda.schema.hints import ColumnHints
from tabsoda.schema.inference import propose_column
from tabsoda.schema.role_words import label_rule, name_words
from tabsoda.schema.roles import guess_role
from tabsoda.schema.vocabulary import language_documents
from tabsoda.schema.words import words
from tabsoda.skips.miner import SkipMiner

ROWS = 400


def draw(low, high):
    return numpy_generator(1, low, high).integers(low, high + 1, ROWS).tolist()


def blanks(values):
    return [None if row % 7 == 0 else value for row, value in enumerate(values)]


GAMMA = numpy_generator(2, "weights").gamma(2.0, 0.5, ROWS).tolist()
EXPANSION = [int(1000 * weight) + 1 for weight in GAMMA]
KILOS = [round(value, 1) for value in numpy_generator(3).normal(74, 13, ROWS).tolist()]
POUNDS = [int(2.2 * value) for value in KILOS]
SEQUENCE = list(range(5001, 5001 + ROWS))
SCATTERED = (np.arange(ROWS) * 37 + 11).tolist()
HOUSEHOLDS = [row // 3 for row in SCATTERED]
ITEM = draw(1, 5)
PSU = [row // 8 for row in range(ROWS)]
STRATA = draw(1, 6)
INTERVIEWERS = draw(918001, 918027)
TEXTS = [f"I think that {row} of the roads in our town need repair" for row in range(ROWS)]
OTHERS = [None if row % 3 else f"brand {row // 2}" for row in range(ROWS)]
STAMPS = [dt.datetime(2020, 11, 13, 9) + dt.timedelta(minutes=7 * row) for row in range(ROWS)]
DAYS = [dt.date(2019, 2, 1) + dt.timedelta(days=row % 60) for row in range(ROWS)]
AMOUNTS = (np.arange(ROWS) * 53 + 7).tolist()

POSITIVE = [
    # name, label, values, role
    ("wt", "Peso del país", [1.0] * ROWS, "weight"),
    ("inwtm", "Interview length in minutes, main questionnaire", draw(27, 180), "ignore"),
    ("DIAENTR", "DATA ENTREVISTA - DIA", draw(10, 24), "ignore"),
    ("Groep.tijd..slaap", "", KILOS, "ignore"),
    ("Group time: sleep", "", KILOS, "ignore"),
    ("wt", "", GAMMA, "weight"),
    ("wt", "", blanks(GAMMA), "weight"),
    ("WEIGHT_W78", "Wave 78 weight", GAMMA, "weight"),
    ("FINALWGT", "", EXPANSION, "weight"),
    ("pweight", "", EXPANSION, "weight"),
    ("fexp", "", EXPANSION, "weight"),
    ("v005", "Women's individual sample weight (6 decimals)", EXPANSION, "weight"),
    ("FACTOR07", "Factor de expansión", EXPANSION, "weight"),
    ("hhweight", "Ponderation menage", blanks(GAMMA), "weight"),
    ("x9", "Coefficient de pondération", GAMMA, "weight"),
    ("ponde", "Ponderador", EXPANSION, "weight"),
    ("V1028", "Fator de expansão", GAMMA, "weight"),
    ("gew", "Personengewicht", GAMMA, "weight"),
    ("wes", "Весовой коэффициент", GAMMA, "weight"),
    ("wei", "抽样权重", GAMMA, "weight"),
    ("peso", "Peso campionario", GAMMA, "weight"),
    ("estratopri", "Estrato Primario", STRATA, "stratum"),
    ("strata", "", STRATA, "stratum"),
    ("SDMVSTRA", "Masked variance pseudo-stratum", STRATA, "stratum"),
    ("v023", "Stratification", STRATA, "stratum"),
    ("x3", "Strate de sondage", STRATA, "stratum"),
    ("upm", "Unidad Primaria de Muestreo", PSU, "cluster"),
    ("grappe", "Numero grappe", PSU, "cluster"),
    ("v021", "Primary sampling unit", PSU, "cluster"),
    ("conglomerado", "", PSU, "cluster"),
    ("SDMVPSU", "", draw(1, 2), "cluster"),
    ("point", "Sample Point", PSU, "cluster"),
    ("QKEY", "Unique ID", SCATTERED, "id"),
    ("idnum", "Número de cuestionario", SCATTERED, "id"),
    ("ResponseId", "", [f"R_{row:05x}" for row in SCATTERED], "id"),
    ("hhid", "Identifiant menage", HOUSEHOLDS, "id"),
    ("folio", "", SCATTERED, "id"),
    ("x1", "", SEQUENCE, "id"),
    ("lfdn", "laufende Nummer", SCATTERED, "id"),
    ("intid", "Número de identificación del entrevistador", INTERVIEWERS, "ignore"),
    ("v1", "Interviewer-Nr.", INTERVIEWERS, "ignore"),
    ("enqueteur", "Code de l'enquêteur", INTERVIEWERS, "ignore"),
    ("encuestador", "", [f"E{code}" for code in INTERVIEWERS], "ignore"),
    ("fecha", "Fecha de la entrevista", DAYS, "ignore"),
    ("INTERVIEW_START_W78", "Interview start time", STAMPS, "ignore"),
    ("Duration (in seconds)", "", AMOUNTS, "ignore"),
    ("dauer", "Dauer des Interviews", AMOUNTS, "ignore"),
    ("endtime", "", [str(stamp) for stamp in STAMPS], "ignore"),
    ("LocationLatitude", "", [40 + weight for weight in GAMMA], "ignore"),
    ("menage", "Numero menage", draw(1, 12), "ignore"),
    ("q9_text", "What should the town do?", TEXTS, "ignore"),
    ("q8_other", "Other brand", OTHERS, "ignore"),
    ("q7_other", "", [f"text {row}" if row < 15 else None for row in range(ROWS)], "ignore"),
]
NEGATIVE = [
    ("body.weight.kg", "", KILOS),
    ("time", "Total time in paid work", draw(0, 60)),
    # name, label, values
    ("weight", "", KILOS),
    ("weight", "", POUNDS),
    ("wt", "", KILOS),
    ("RWEIGHT", "", POUNDS),
    ("q5", "Weight in kg", KILOS),
    ("peso", "Peso en kilos", KILOS),
    ("poids", "Poids (kg)", KILOS),
    ("bodyweight", "Body weight in pounds", POUNDS),
    ("q6", "How much do you weigh?", POUNDS),
    ("birthweight", "Birth weight in grams", [int(44 * value) for value in KILOS]),
    ("weight_loss", "", GAMMA),
    ("q7", "How much weight do you give to the opinion of experts?", GAMMA),
    ("overweight", "Overweight", draw(0, 1)),
    ("wtd", "Weighed the options before the purchase", ITEM),
    ("key_issue", "Key issue in the election", ITEM),
    ("paid", "Paid for the service", draw(0, 1)),
    ("valid", "", ITEM),
    ("covid", "Ever had covid", draw(1, 2)),
    ("partyid", "Party identification", draw(1, 7)),
    ("amount_paid", "", AMOUNTS),
    ("income", "", SCATTERED),
    ("wealth_index", "", SCATTERED),
    ("strategy", "Coping strategy", ITEM),
    ("estrategia", "", ITEM),
    ("estrato", "Estrato socioeconómico de la vivienda", STRATA),
    ("schicht", "Subjektive soziale Schicht", ITEM),
    ("sest1", "", ITEM),
    ("QCL_1", "Cluster Number of Case", draw(1, 4)),
    ("cluster_headache", "", draw(0, 1)),
    ("sexi", "Sexo (entrevistador)", draw(1, 2)),
    ("coop", "Interviewer: cooperation of the respondent", ITEM),
    ("duration", "Duration of unemployment in months", draw(0, 90)),
    ("tvtime", "Minutes of television on a usual day", AMOUNTS),
    ("q11", "Start date of your current job", DAYS),
    ("birth", "Date of birth", DAYS),
    ("start", "Should school start later?", ITEM),
    ("age", "Age in years", draw(18, 90)),
    ("q12", "Number of persons in the household", draw(1, 12)),
    ("city", "", [f"city {row % 40}" for row in range(ROWS)]),
    ("height", "", GAMMA),
    ("factor", "Most important factor", ITEM),
    ("risk_factor", "", GAMMA),
    ("w", "", ITEM),
    ("record", "Do you have a criminal record?", draw(1, 2)),
    ("q13", "How many interviewers called?", draw(0, 9)),
    ("social", "Social class", draw(1, 5)),
]


def proposed(name, label, values):
    return propose_column(pl.Series(name, values), ColumnHints(label=label))


def test_there_are_enough_cases():
    assert min(len(POSITIVE), len(NEGATIVE)) >= 30


@pytest.mark.parametrize(("name", "label", "values", "role"), POSITIVE)
def test_roles_are_found_with_a_reason(name, label, values, role):
    column = proposed(name, label, values)
    assert column.role is ColumnRole(role)
    assert column.note.startswith("guess: ")


@pytest.mark.parametrize(("name", "label", "values"), NEGATIVE)
def test_questions_that_resemble_another_role_stay_questions(name, label, values):
    assert proposed(name, label, values).role is ColumnRole.QUESTION


def test_labelled_levels_of_which_most_are_rare_are_ignored_and_common_ones_are_not():
    rare = pl.Series("isco", SCATTERED[:200] * 2)
    labels = {code: f"Occupation {code}" for code in SCATTERED[:200]}
    hints = ColumnHints(level_labels=labels)
    assert propose_column(rare, hints).role is ColumnRole.IGNORE
    assert propose_column(pl.Series("isco", SCATTERED[:40] * 10), hints).role is ColumnRole.QUESTION
    # Unlabelled numbers are amounts, not levels.
    assert propose_column(rare, ColumnHints(measure="nominal")).role is ColumnRole.QUESTION


def test_labels_of_design_columns_stay():
    hints = ColumnHints(level_labels={code: f"Stratum {code}" for code in range(1, 7)})
    column = propose_column(pl.Series("strata", STRATA), hints)
    assert column.role is ColumnRole.STRATUM
    assert column.level_labels[3] == "Stratum 3"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("INTERVIEW_START_W78", ("interview", "start", "w", "78")),
        ("hhID", ("hh", "id")),
        ("q1.2b", ("q", "1", "2", "b")),
        ("Größe", ("grosse",)),
        ("страта", ("страта",)),
    ],
)
def test_words_of_names(name, found):
    assert name_words(name) == found


def test_words_for_weights_do_not_count_against_a_weight():
    body = label_rule("body")
    for document in language_documents():
        for text in (*document["roles"]["weight"], *document["roles"]["weight_word"]):
            assert not body.longest(words(text)), text


def test_guessed_roles_are_events_and_lines_of_inspect():
    survey = read_survey(pl.DataFrame({"wt": GAMMA, "intid": INTERVIEWERS, "q": ITEM}))
    flags = [flag for flag in summarize(survey)["flags"] if flag["kind"] == "role_guessed"]
    assert {flag["flag"] for flag in flags} == {"role guessed"}
    assert [(flag["variable"], flag["detail"].split(":")[0]) for flag in flags] == [
        ("wt", "weight"),
        ("intid", "ignore"),
    ]


def test_ignored_columns_are_neither_gates_nor_questions():
    gate = draw(1, 2)
    frame = pl.DataFrame(
        {
            # The interviewer number determines the gate's answer.
            "interviewer": [100 * answer + row % 30 for row, answer in enumerate(gate)],
            "gate": gate,
            "follower": [value if g == 1 else None for value, g in zip(ITEM, gate, strict=True)],
        }
    )
    survey = read_survey(frame)
    assert survey.schema["interviewer"].role is ColumnRole.IGNORE
    assert survey.table.names == ("gate", "follower")
    assert all("interviewer" not in rule.gates for rule in SkipMiner().mine(survey.table).rules)


def test_a_survey_without_a_question_is_refused():
    with pytest.raises(InputError, match="none of them a question"):
        read_survey(
            pl.DataFrame({"a": [1, 2]}), [{"name": "a", "type": "nominal", "role": "ignore"}]
        )
    assert Column("a", "nominal", role=ColumnRole.IGNORE).role == "ignore"


def test_remarks_of_a_few_respondents_are_free_text_and_rare_long_answers_are_not():
    remarks = [f"I would like to say that number {n} was asked twice, thank you." for n in range(3)]
    blank = [None] * 29
    column = pl.Series("remarks", remarks + blank)
    role, reason = guess_role("remarks", content_of(column, ColumnHints()))
    assert role is ColumnRole.IGNORE
    assert "free text, 3 different texts" in reason
    for others in (
        [remarks[0], remarks[0], remarks[1], remarks[2], *blank],  # one was given twice
        ["yes", "no", "perhaps", *blank],
        remarks[:2] + blank,
        remarks + ["No remark", "None", "Nothing to add"] * 10,
    ):
        assert guess_role("remarks", content_of(pl.Series(others), ColumnHints()))[1] == ""
