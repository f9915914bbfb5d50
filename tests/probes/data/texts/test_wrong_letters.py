# ruff: noqa: RUF001  letters that look like others are what this is about
"""Letters that were replaced, and those that only look so."""

import pytest

from ftlab.probes.data.texts.wrong_letters import wrong_letters


@pytest.mark.parametrize(
    ("text", "name", "char"),
    [
        ("Привет, как дела?".encode("ascii", "replace").decode(), "broken-encoding", 0),
        ("He said: ????, ??? ?????? ??.", "broken-encoding", 9),
        ("the sеries", "mixed-scripts", 5),
        ("привeт", "mixed-scripts", 4),
        ("HELLΟW", "mixed-scripts", 4),
    ],
)
def test_replaced_letters_are_found(text, name, char):
    ((found, at, _),) = wrong_letters(text)
    assert (found, at) == (name, char)


@pytest.mark.parametrize(
    "text",
    [
        "What?? Is it so??? Really?",
        "?? ?? ??",
        "Why ??? ??? ???",
        "48 8b ?? ?? ?? e8",
        "Пишу на Python и читаю web-сайт, SMSки.",
        "NF-κB, TGFα, ΔE, Σx, 3 µm",
        "Ελληνικά and English",
        "Ê, déjà — “oui”",
        "日本語 and English",
    ],
)
def test_is_silent_where_they_are_meant(text):
    assert list(wrong_letters(text)) == []
