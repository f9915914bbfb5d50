# ruff: noqa: RUF001  texts in all scripts hold letters that look like others
"""Faults of texts, and the texts of all scripts that have none."""

import unicodedata

import pytest

from ftlab.probes.data.rows.formats import parts_of
from ftlab.probes.data.texts.characters import character_faults, repairer, text_faults

HEALTHY = [
    "C’est déjà l’été à Montréal : « café », naïve, œuvre, Œuf.",
    "Müller isst Käse – „gut“ … 5 €, 20 °C, ×², ½, µm, §4.",
    "日本語のテキスト。「東京」は大きい都市です、ＡＢＣ！",
    "数据质量很重要，对吗？",
    "Привет, как дела? Хорошо, спасибо — «да».",
    "Γειά σου Κόσμε, τι κάνεις;",
    "مرحبا بالعالم، كيف حالك اليوم؟ \u200fABC\u200e 123",
    "می‌خواهم کتاب‌ها را بخوانم",
    "क्‍षमा क्‌ष हिन्दी में लिखना",
    "שלום \u2067world\u2069 עולם",
    "ภาษา\u200bไทย ไม่มีช่องว่าง",
    "Xin chào, tiếng Việt có nhiều dấu.",
    "한국어 문장입니다. 각각의 글자",
    "👩‍👩‍👧‍👦 🏳️‍🌈 ❤️‍🔥 👍🏽 1️⃣",
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "┌──┬──┐\n│ a│ b│\n├──┼──┤\n│ 1│ é│\n└──┴──┘ ═══ ▀▄█",
    "∀x ∈ ℝ: ∑ᵢ xᵢ² ≥ 0 ⇒ √π ≈ 1.77, α→β, Ĥψ = Eψ",
    "def f(x):\n\treturn x + 1\r\n ~`|<>{}\\",
    "| Name | Größe |\n|---|---|\n| Ä | 3 µm |",
    "(╯°□°)╯︵ ┻━┻ ¯\\_(ツ)_/¯ ಠ_ಠ",
    "São Paulo, Ação, ÂNGULO, À noite; Curaçao, Ísland, ÞÓRR, Åse",
    "Ř, Š, Ž, ő, ű, İstanbul, Ł, ș, ț, ð",
    "Ê, è, à – “oui”… l’œil à «Â»",
    "O jornal escreveu: “ATÉ AMANHÃ” e «IRMû",
    "MAÇÃ™, IRMî; “DẤU NGÔ, „IRMÓ",
    "A IRMÃ—disse ele—e a MAÇÖ HYVÄ°",
    "\u200f%d %B %Y",
]


@pytest.mark.parametrize("text", HEALTHY)
def test_is_silent_on_healthy_text(text):
    assert list(text_faults(text)) == []


@pytest.mark.parametrize("good", HEALTHY[:2] + HEALTHY[4:5])
def test_utf_8_read_as_cp1252_is_found_and_shown_repaired(good):
    text = "plain words, then " + good.encode().decode("cp1252", "ignore")
    (fault,) = (f for f in text_faults(text) if f.name == "broken-encoding")
    assert fault.char >= 18
    assert fault.says.endswith("when repaired")


@pytest.mark.parametrize(
    ("text", "char"),
    [
        ("a lost \ufffd one", 7),
        ("ï»¿C’est".encode().decode(), 0),
        ("dÃ©jÃ\xa0 vu", 1),
        ("itâ€™s", 2),
        ("Ä°stanbul", 0),
        ("SEÃ‘OR", 2),
        ("KÃ–LN", 1),
        ("dÃ» «IRMû", 1),
        ("РџСЂРёРІРµС‚ РјРёСЂ", 0),
    ],
)
def test_the_first_broken_character_is_named(text, char):
    fault = next(f for f in text_faults(text) if f.name == "broken-encoding")
    assert fault.char == char


def test_without_ftfy_only_lost_characters_are_found(monkeypatch):
    monkeypatch.setattr("ftlab.probes.data.texts.characters.repairer", lambda: None)
    assert list(text_faults("itâ€™s")) == []
    assert [f.char for f in text_faults("itâ€™s \ufffd")] == [7]


def test_repairs_nothing_that_reads_well():
    assert repairer()("C’est déjà l’été") is None


@pytest.mark.parametrize(
    ("text", "char", "says"),
    [
        ("zero\u200bwidth", 4, "U+200B ZERO WIDTH SPACE"),
        ("pay\u202egnp.exe", 3, "U+202E RIGHT-TO-LEFT OVERRIDE"),
        ("a \ufeffmark", 2, "U+FEFF ZERO WIDTH NO-BREAK SPACE"),
        ("a\u200db", 1, "U+200D ZERO WIDTH JOINER"),
        ("soft\xadware", 4, "U+00AD SOFT HYPHEN"),
        ("nul\x00 é", 3, "U+0000 a control character"),
        ("bell\x07", 4, "U+0007 a control character"),
        ("hi\U000e0041\U000e0042", 2, "U+E0041 TAG LATIN CAPITAL LETTER A"),
        ("سلام then \u200b", 10, "U+200B ZERO WIDTH SPACE"),
    ],
)
def test_hidden_characters_are_found(text, char, says):
    (fault,) = text_faults(text)
    assert fault == ("invisible-character", char, says)


def test_a_byte_of_a_broken_letter_is_no_hidden_character():
    names = [fault.name for fault in text_faults("lÃ\xadnea de envÃ\xado")]
    assert names == ["broken-encoding"]
    (fault,) = text_faults("é\xadlève")
    assert fault.name == "invisible-character"


def test_letters_and_accents_apart_are_found_at_the_letter():
    text = unicodedata.normalize("NFD", "Le café est fermé")
    (fault,) = text_faults(text)
    assert fault == ("decomposed-letters", 6, "é as two characters")
    assert not list(text_faults(unicodedata.normalize("NFD", "कि ñ")[:2]))


def test_half_a_character_is_found():
    (fault,) = text_faults("cut \ud83d")
    assert fault == ("half-character", 4, "U+D83D")


def test_each_kind_is_told_once():
    text = "Ã©Ã© a\u200b\u200b e\u0301e\u0301"
    names = [fault.name for fault in text_faults(text)]
    assert names == ["broken-encoding", "invisible-character", "decomposed-letters"]


def test_a_colour_of_a_terminal_is_found():
    (fault,) = text_faults("li\x1b[31mst")
    assert (fault.name, fault.char) == ("invisible-character", 2)
    assert list(text_faults("print('\\x1b[31mred')\x0c")) == []


def test_a_line_end_of_slides_is_found():
    (fault,) = text_faults("The title\x0bgoes on.")
    assert (fault.name, fault.char) == ("invisible-character", 9)


BROKEN, GOOD = "Un caf\u00c3\u00a9 m\u00c3\u00a1s.", "Un caf\u00e9 m\u00e1s."


def faults(prompt, answer, **more):
    row = parts_of({"prompt": prompt, "completion": answer, **more})
    return [(part.where, fault.name) for part, fault in character_faults(row)]


@pytest.mark.parametrize(
    ("prompt", "answer", "where"),
    [
        (BROKEN, "One more coffee.", "prompt"),
        ("What do they ask for?", BROKEN, "completion"),
        (f"Translate: {GOOD}", BROKEN, "completion"),
        (f"{BROKEN} Where?", "Caf\u00e9 Central", "prompt"),
        ("It is lo\ufffdt here.", "It is not.", "prompt"),
        ("What is it?", "It is lo\ufffdt here.", "completion"),
    ],
)
def test_letters_that_were_read_wrongly_are_found(prompt, answer, where):
    assert faults(prompt, answer) == [(where, "broken-encoding")]


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        (BROKEN, GOOD),
        (f"Mend this:\n{BROKEN}", f"It is:\n{GOOD}"),
        (f"Mend this: {BROKEN}", GOOD),
        (f"What is mojibake in {BROKEN[3:8]}?", "Two letters for one."),
        ("Read this as Latin-1.", BROKEN),
        ("How does it look?", f"As {BROKEN}, which is called mojibake."),
        ("L\u00c3\u00adnea", "L\u00ednea"),
    ],
)
def test_is_silent_where_a_row_is_about_them(prompt, answer):
    assert faults(prompt, answer) == []


def test_the_rejected_answer_may_be_the_broken_one():
    row = parts_of({"prompt": "Why?", "chosen": GOOD, "rejected": BROKEN})
    assert list(character_faults(row)) == []


def test_other_faults_of_the_row_stay():
    assert faults(BROKEN, f"{GOOD}\x07") == [("completion", "invisible-character")]


def test_a_text_alone_may_speak_of_encodings_and_be_broken():
    row = parts_of({"text": f"Read it with the right encoding.\n{BROKEN}"})
    assert [fault.name for _, fault in character_faults(row)] == ["broken-encoding"]


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("What is the character \u200b (U+200B)?", "Zero width space"),
        ("What is the character \u202e?", "Right-to-left override"),
        ("Where does it stand?", "Behind 'a\u200b': it is \\u200b, as code says."),
    ],
)
def test_a_character_that_a_row_names_is_meant(prompt, answer):
    assert faults(prompt, answer) == []


def test_a_character_that_nobody_names_is_found_beside_another():
    assert faults("What is U+200B?", "It is\u2060 a space.") == [
        ("completion", "invisible-character")
    ]
