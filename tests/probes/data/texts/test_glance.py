"""What a glance at a row tells, and what hangs on it."""

import pytest

from ftlab.probes.data.rows.row_parts import parts_of
from ftlab.probes.data.texts.glance import SIGNS, WORDS, Glances


@pytest.mark.parametrize("word", WORDS)
def test_each_word_is_seen_in_any_text_of_a_row(word):
    for row in ({"prompt": f"a{word}b", "completion": "c"}, {"text": word}):
        assert word in Glances().at(parts_of(row)).words


def test_of_usual_letters_nothing_is_left():
    seen = Glances().at(parts_of({"prompt": "Why is it so?", "completion": "It is."}))
    assert seen == ("Why is it so?\nIt is.", b"?", b"", frozenset())


def test_signs_are_kept_in_their_order_and_others_beside_them():
    text = f"a{SIGNS.decode()}b\u00e9c\x07"
    seen = Glances().at(parts_of({"text": text}))
    assert seen.rare == SIGNS + b"\xc3\xa9\x07"
    assert seen.odd == b"\xc3\xa9\x07"


def test_words_of_a_tokenizer_are_looked_for_as_well():
    row = parts_of({"text": "a<|stop|>"})
    assert Glances(["<|stop|>"]).at(row).words == {"<|stop|>"}
    assert Glances().at(row).words == frozenset()


def test_a_half_of_a_character_is_no_reason_to_fail():
    assert Glances().at(parts_of({"text": "a\ud83d"})).odd == b"\xed\xa0\xbd"
