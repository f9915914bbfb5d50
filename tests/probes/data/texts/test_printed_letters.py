"""Letters in the shapes of a page, and texts that are about them."""

import unicodedata

import pytest

from ftlab.probes.data.rows.row_parts import parts_of
from ftlab.probes.data.texts.printed_letters import may_hold_shapes, printed_letters

TYPED = (
    "\u0627\u0644\u0633\u0644\u0627\u0645 \u0639\u0644\u064a\u0643\u0645 \u064a\u0627 "
    "\u0627\u0644\u0635\u062f\u064a\u0642"
)
ALONE = {
    unicodedata.normalize("NFKC", chr(code)): chr(code)
    for code in range(0xFE80, 0xFEF5)
    if unicodedata.decomposition(chr(code)).startswith("<isolated>")
}
SHAPED = "".join(ALONE.get(letter, letter) for letter in TYPED)
LATIN = "The \ufb01rst of them is well de\ufb01ned."


def faults(answer, prompt="What do they say?"):
    row = parts_of({"prompt": prompt, "completion": answer})
    return [(part.where, *fault) for part, fault in printed_letters(row)]


@pytest.mark.parametrize(
    ("answer", "name", "char", "says"),
    [
        (SHAPED, "printed-letters", 0, f"reads {TYPED[:6]} when typed"),
        (
            f"A: {SHAPED[::-1]}",
            "printed-letters",
            3,
            f"reads {TYPED[-6:]} when typed, in reversed order",
        ),
        (LATIN, "printed-letters", 4, "reads first when typed"),
        (
            "An o\ufb03ce for the \ufb02uid.",
            "printed-letters",
            3,
            "reads office when typed",
        ),
        ("\u0130\u015flem".lower(), "dotted-i", 0, "reads i\u015flem when typed"),
        ("de\u011fi\u0307ti", "dotted-i", 0, "reads de\u011fiti when typed"),
    ],
)
def test_letters_that_nobody_types_are_found(answer, name, char, says):
    assert may_hold_shapes(answer.encode())
    assert faults(answer) == [("completion", name, char, says)]


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("Who?", f"{TYPED} \ufdfa {TYPED} \ufdf2"),
        ("Which?", f"{TYPED[7:]}: {SHAPED[:5]}"),
        ("Which?", " ".join(ALONE.values())),
        ("Which?", "\ufb01 and \ufb02 \ufb01 \ufb02"),
        ("Which?", "A word with one: de\ufb01ned."),
        ("What is a ligature?", LATIN),
        (f"Type it: {SHAPED}", TYPED),
        (f"Type it: {SHAPED[::-1]}", TYPED),
        (LATIN, "The first of them is well defined."),
        ("How?", "i\u0307\u0301 ki\u0307\u0303 vi\u0307\u0300"),
        ("How?", "An i\u0307 alone."),
        ("What does lower() give?", "i\u0307stanbul"),
        ("How?", "\u201cI\u201d, \uff0c and \u6f22\u5b57\u3002"),
    ],
)
def test_is_silent_on_what_is_typed_or_meant(prompt, answer):
    assert faults(answer, prompt) == []


def test_signs_of_chinese_are_no_reason_to_look():
    assert not may_hold_shapes("\u6f22\u5b57\uff0c\uff01".encode())
