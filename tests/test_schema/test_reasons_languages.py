"""Labels of codes in the languages that surveys come in, and answers that resemble them."""

import pytest

from tabsoda.schema import Reason
from tabsoda.schema.reasons import main_language, read_label, reason_from_label
from tabsoda.schema.vocabulary import Use, language_documents
from tabsoda.schema.words import word_parts, words

SKIP, REFUSED, DONT_KNOW, BLANK, OTHER = Reason

LABELS = {
    "English": {
        SKIP: [
            "Inapplicable",
            "NOT APPLICABLE",
            "Valid skip",
            "Not asked in this country",
            "INAP, coded 2 at Q5",
        ],
        REFUSED: ["Refused (vol.)", "Prefer not to say", "I would rather not answer"],
        DONT_KNOW: ["DON'T KNOW", "{Don’t know}", "[Do not read] Don't know", "Can't choose"],
        BLANK: ["No answer", "Not ascertained", "Skipped on web", "BLANK (NO ANSWER)"],
        OTHER: ["Don't know/Refused", "DK/NA", "Not applicable or refused"],
        None: ["None", "Never", "No", "Nothing", "Refused treatment", "Does not know how to read"],
    },
    "Spanish": {
        SKIP: ["No aplica", "-1 No procede", "NO CORRESPONDE", "No se le preguntó", "INAP"],
        REFUSED: [
            "Rehúsa contestar",
            "Prefiero no responder",
            "Se negó a contestar",
            "No responde",
        ],
        DONT_KNOW: ["98. No sabe", "No sé", "No recuerda", "(No leer) No sabe"],
        BLANK: ["No respuesta", "Sin respuesta", "No especificado"],
        OTHER: ["NS/NR", "No sabe / No responde", "Ns-Nc", "NSNR", "N.S./N.C."],
        None: ["Nunca", "Nada", "Ninguno", "No", "No sabe leer ni escribir", "Voto en blanco"],
    },
    "French": {
        SKIP: ["Non applicable", "Sans objet", "Non concerné(e)", "Question non posée"],
        REFUSED: ["Refus", "Refuse de répondre", "Préfère ne pas répondre"],
        DONT_KNOW: ["Ne sait pas", "Je ne sais pas", "(Ne pas lire) Ne sait pas"],
        BLANK: ["Sans réponse", "Non-réponse", "Pas de réponse", "Non renseigné"],
        OTHER: ["NSP/NR", "Ne sait pas / refus", "NSPNR"],
        None: ["Non", "Jamais", "Aucun", "Rien", "Ne sait pas lire", "Personne"],
    },
    "Portuguese": {
        SKIP: ["Não se aplica", "Não aplicável", "NAO APLICA", "Não perguntado"],
        REFUSED: ["Recusou-se a responder", "Prefiro não responder", "Não respondeu"],
        DONT_KNOW: ["Não sabe", "Não sei", "NÃ£o sabe", "N\ufffdo sabe"],
        BLANK: ["Sem resposta", "Não informado", "Sem declaração"],
        OTHER: ["NS/NR", "Não sabe/Não respondeu"],
        None: ["Não", "Nunca", "Nenhum", "Nada", "Não sabe ler nem escrever", "Ninguém"],
    },
    "German": {
        SKIP: ["nicht anwendbar", "Entfällt", "Frage nicht gestellt", "filterbedingt fehlend"],
        REFUSED: ["Verweigert", "Antwort verweigert", "Möchte ich nicht sagen"],
        DONT_KNOW: ["Weiß nicht", "WEISS NICHT", "weiÃŸ nicht", "Kann ich nicht sagen"],
        BLANK: ["Keine Angabe", "-9 keine Antwort", "nicht lesbar", "Ohne Angabe"],
        OTHER: ["weiß nicht/keine Angabe", "WN/KA"],
        None: ["Nein", "Nie", "Keine", "Trifft nicht zu", "Trifft eher nicht zu", "Nichts"],
    },
    "Italian": {
        SKIP: ["Non applicabile", "Domanda non posta", "Non pertinente"],
        REFUSED: ["Rifiuta di rispondere", "Preferisco non rispondere", "Rifiuto"],
        DONT_KNOW: ["Non sa", "Non so", "Non ricorda"],
        BLANK: ["Non risponde", "Nessuna risposta", "Mancata risposta", "Non indicato"],
        OTHER: ["NS/NR", "Non sa / non risponde"],
        None: ["No", "Mai", "Nessuno", "Niente", "Non sa leggere né scrivere"],
    },
    "Dutch": {
        SKIP: ["Niet van toepassing", "Niet gevraagd", "Vraag niet gesteld"],
        REFUSED: ["Weigert", "Wil niet zeggen", "Weigert te antwoorden"],
        DONT_KNOW: ["Weet niet", "Weet ik niet", "Geen idee"],
        BLANK: ["Geen antwoord", "Niet beantwoord", "Niet ingevuld"],
        OTHER: ["Weet niet/geen antwoord", "WN/GA"],
        None: ["Nee", "Nooit", "Geen", "Niets"],
    },
    "Polish": {
        SKIP: ["Nie dotyczy", "Nie zadano pytania", "NIE ZADANO"],
        REFUSED: ["Odmowa odpowiedzi", "Odmowa", "Odmówił(a) odpowiedzi"],
        DONT_KNOW: ["Nie wiem", "Trudno powiedzieć", "Nie pamiętam"],
        BLANK: ["Brak odpowiedzi", "Brak danych", "Nie podano"],
        OTHER: ["Nie wiem / odmowa odpowiedzi"],
        None: ["Nie", "Nigdy", "Żaden", "Nic", "Brak"],
    },
    "Turkish": {
        SKIP: ["Uygulanamaz", "Soru sorulmadı", "SORULMADI"],
        REFUSED: ["Cevap vermek istemiyor", "Reddetti", "Söylemek istemiyorum"],
        DONT_KNOW: ["Bilmiyor", "BİLMİYORUM", "Fikri yok"],
        BLANK: ["Cevap yok", "Yanıt vermedi", "Cevapsız"],
        OTHER: ["FY/CY", "Bilmiyor / cevap yok"],
        None: ["Hayır", "Hiç", "Hiçbir zaman", "Yok"],
    },
    "Arabic": {
        SKIP: ["لا ينطبق", "غير قابل للتطبيق", "لم يُسأل"],
        REFUSED: ["رفض الإجابة", "أفضل عدم الإجابة", "رفض الاجابة (لا تقرأ)"],
        DONT_KNOW: ["لا أعرف", "لا اعرف", "لا يعلم", "لا أعرف (لا تقرأ)"],
        BLANK: ["لا توجد إجابة", "بدون إجابة", "لم يجب"],
        OTHER: ["لا أعرف / رفض الإجابة"],
        None: ["لا", "أبدا", "لا شيء", "لا أحد", "لا يعرف القراءة والكتابة"],
    },
    "Russian": {
        SKIP: ["Неприменимо", "Не применимо", "Вопрос не задавался"],
        REFUSED: ["Отказ от ответа", "ОТКАЗ", "Отказался отвечать"],
        DONT_KNOW: ["Не знаю", "Затрудняюсь ответить", "Трудно сказать"],
        BLANK: ["Нет ответа", "Не указано", "Нет данных"],
        OTHER: ["Не знаю / отказ от ответа"],
        None: ["Нет", "Никогда", "Никто", "Ничего"],
    },
    "Chinese": {
        SKIP: ["不适用", "不適用", "-2.不适用", "跳过"],
        REFUSED: ["拒绝回答", "拒答", "不愿回答"],
        DONT_KNOW: ["不知道", "(-1)不知道", "说不清"],
        BLANK: ["无回答", "未回答", "缺失"],
        OTHER: ["不知道/拒绝回答"],
        None: ["没有", "从不", "无", "不是", "不知道怎么回答孩子"],
    },
    "Japanese": {
        SKIP: ["非該当", "対象外", "質問せず"],
        REFUSED: ["回答拒否", "答えたくない", "拒否"],
        DONT_KNOW: ["わからない", "分からない", "覚えていない"],
        BLANK: ["無回答", "未回答", "回答なし"],
        OTHER: ["わからない・無回答"],
        None: ["ない", "全くない", "どちらともいえない", "いいえ", "該当なし"],
    },
    "Hindi": {
        SKIP: ["लागू नहीं", "लागू नहीं होता", "नहीं पूछा गया"],
        REFUSED: ["उत्तर देने से इनकार", "इनकार", "बताना नहीं चाहते"],
        DONT_KNOW: ["पता नहीं", "मालूम नहीं", "मुझे नहीं पता"],
        BLANK: ["कोई उत्तर नहीं", "जवाब नहीं दिया", "अनुत्तरित"],
        OTHER: ["पता नहीं / कोई उत्तर नहीं"],
        None: ["नहीं", "कभी नहीं", "कोई नहीं", "कुछ नहीं"],
    },
}
CASES = [
    pytest.param(label, reason, id=f"{language}-{label}")
    for language, by_reason in LABELS.items()
    for reason, labels in by_reason.items()
    for label in labels
]


def test_every_language_has_its_file_and_its_cases():
    assert {document["language"] for document in language_documents()} == set(LABELS)
    assert all(sum(map(len, by_reason.values())) >= 12 for by_reason in LABELS.values())


@pytest.mark.parametrize(("label", "reason"), CASES)
def test_labels(label, reason):
    assert reason_from_label(label) is reason


@pytest.mark.parametrize(
    "change",
    [str.upper, str.lower, lambda t: f"  {t}. ", lambda t: f"[-9] {t}", lambda t: f"99: {t}"],
)
def test_case_punctuation_and_codes_do_not_matter(change):
    for by_reason in LABELS.values():
        for reason, labels in by_reason.items():
            for label in labels:
                if "�" not in label and "Ã" not in label:
                    assert reason_from_label(change(label)) is reason, change(label)


def test_utf8_read_as_latin1_does_not_matter():
    for language, by_reason in LABELS.items():
        for reason, labels in by_reason.items():
            for label in labels:
                if "�" not in label and "Ã" not in label and "’" not in label:
                    damaged = label.encode().decode("latin-1")
                    assert reason_from_label(damaged) is reason, (language, label)


@pytest.mark.parametrize(
    ("label", "declared", "language", "reason"),
    [
        ("trifft nicht zu", False, "German", None),
        ("trifft nicht zu", True, "German", SKIP),
        ("Does not apply to me", True, "", SKIP),
        ("NC", False, "", None),
        ("NC", True, "", OTHER),
        ("NC", True, "French", SKIP),
        ("NC", False, "Spanish", BLANK),
        ("NA", True, "", OTHER),
        ("N.A.", False, "Spanish", SKIP),
        ("N/A", False, "", SKIP),
        ("k. A.", True, "", BLANK),
        ("w.n.", True, "", DONT_KNOW),
        ("TNZ", True, "", SKIP),
        ("(NS)", True, "", DONT_KNOW),
        ("該当なし", True, "Japanese", SKIP),
        ("Missing - legitimate skip", False, "", SKIP),
        ("Ordinary answer", True, "", None),
        ("Não conhece o partido", False, "", None),
        ("Não conhece o partido (Esp.)", True, "", DONT_KNOW),
        ("Never heard of", False, "", None),
        ("Does not know the person", False, "", None),
        ("Don't know this person", True, "", DONT_KNOW),
        ("Haven't heard of", True, "", DONT_KNOW),
        ("No lo conoce", True, "", DONT_KNOW),
        ("Refused entry at a border", True, "", REFUSED),
    ],
)
def test_declared_codes_and_the_language_settle_unclear_labels(label, declared, language, reason):
    assert reason_from_label(label, declared=declared, language=language) is reason


def test_no_phrase_has_two_meanings_in_one_language():
    for document in language_documents():
        meanings = {}
        for use in (Use.PHRASE, Use.WHOLE, Use.SHORT, Use.UNCLEAR):
            for reason, texts in document.get(use, {}).items():
                for text in texts:
                    meanings.setdefault(words(text), set()).add((use, reason))
        clashes = {text: found for text, found in meanings.items() if len(found) > 1}
        assert not clashes, document["language"]


def test_every_phrase_of_every_language_is_read_as_listed():
    for document in language_documents():
        for use in (Use.PHRASE, Use.WHOLE):
            for reason, texts in document.get(use, {}).items():
                for text in texts:
                    found = reason_from_label(text, language=document["language"])
                    assert found is Reason(reason), (document["language"], text)


def test_the_language_is_that_of_most_labels():
    assert main_language(["Ja", "Nein", "keine Angabe", "weiß nicht", "No answer"]) == "German"
    assert main_language(["Yes", "No"]) == ""
    assert main_language(["NS", "NR", "NC"]) == ""


def test_parts_and_abbreviations():
    assert word_parts("Non-interview (k. A.)") == (("non", "interview"), ("ka",))
    assert words("l'enquêté ØŁÆ") == ("lenquete", "olae")
    assert read_label("") is None
    assert read_label("123") is None


def test_unclear_words_of_other_languages_are_answers() -> None:
    """ "Red" is Turkish for a refusal, and a colour in English."""
    assert read_label("Red", "Turkish").reason is REFUSED
    assert read_label("Red", "").reason is REFUSED
    assert read_label("Red", "English") is None
