"""Names of others cannot command a terminal."""

import pytest

from ftlab.records.names import NameRecord
from ftlab.records.printable import harmless, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("layers.0.größe [日本]", "layers.0.größe [日本]"),
        ("a\x1b[2Jb\r\n", r"a\x1b[2Jb\r\n"),
        ("\u202egnp.\u200b", r"\u202egnp.\u200b"),
        ("\x9b31m", r"\x9b31m"),
        ("", ""),
    ],
)
def test_what_a_terminal_would_obey_is_escaped_once(text, shown):
    assert printable(text) == shown
    assert printable(shown) == shown


def test_what_a_terminal_would_obey_is_escaped_wherever_it_stands():
    value = {"a\x1b": ["\x9b31m\r", {"b": "\u202e\ud800"}], "n": 1.5}
    escaped = {"a\\x1b": ["\\x9b31m\\r", {"b": "\\u202e\\ud800"}], "n": 1.5}
    assert harmless(value) == escaped
    assert harmless(escaped) == escaped


def test_lines_and_letters_of_all_scripts_stay():
    text = "größe\n\t日本 \u200bא\u00a0"
    assert harmless(text) == text


def test_a_name_in_a_log_is_made_safe():
    meta = {"adapter": "x\x1b", "r": 4}
    record = NameRecord(0, "adapters", "q\x1b[31m", "adapter", "l\x07", meta=meta)
    assert (record.name, record.layer) == (r"q\x1b[31m", r"l\x07")
    assert record.meta == {"adapter": r"x\x1b", "r": 4}
