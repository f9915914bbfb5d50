"""Letters that were read wrongly, and rows that are about them."""

import pytest

from ftlab.probes.data.rows.row_parts import parts_of
from ftlab.probes.data.texts.letter_faults import letter_faults

BROKEN, GOOD = "Un caf\u00c3\u00a9 m\u00c3\u00a1s.", "Un caf\u00e9 m\u00e1s."


def faults(prompt, answer, **more):
    row = parts_of({"prompt": prompt, "completion": answer, **more})
    return [(part.where, fault.name) for part, fault in letter_faults(row)]


@pytest.mark.parametrize(
    ("prompt", "answer", "where"),
    [
        (BROKEN, "One more coffee.", "prompt"),
        ("What do they ask for?", BROKEN, "completion"),
        (f"Translate: {GOOD}", BROKEN, "completion"),
        (f"{BROKEN} Where?", "Caf\u00e9 Central", "prompt"),
        ("It is lo\ufffdt here.", "It is not.", "prompt"),
        ("What is it?", "It is lo\ufffdt here.", "completion"),
        ("Translate.", "L\xfctfen dosyalar\xfd kapat\xfdn.", "completion"),
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
        ("It is lo\ufffdt, isn\ufffd\ufffdt it?", "It is lost, isn\u2019t it?"),
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
    assert list(letter_faults(row)) == []


def test_other_faults_of_the_row_stay():
    assert faults(BROKEN, f"{GOOD}\x07") == [("completion", "invisible-character")]


def test_a_text_alone_may_speak_of_encodings_and_be_broken():
    row = parts_of({"text": f"Read it with the right encoding. {BROKEN}"})
    assert [fault.name for _, fault in letter_faults(row)] == ["broken-encoding"]


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
