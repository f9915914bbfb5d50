"""Strings in brackets that are common tokens."""

import numpy as np

from ftlab.probes.tokens.row_samples import rows_event
from ftlab.probes.tokens.sample_reading import Columns, samples_in
from ftlab.probes.tokens.spelled_marks import MARKS, POSITIONS, spelled_marks
from ftlab.records.sample_facts import SeenSamples
from ftlab.records.spelled_mark import SpelledMark

EOS = 1
WORDS = ["<pad>", "</whole>", "</", "s", ">", "\u0120a", "\u010a", "<", "|x|", "##e"]
WORDS += ["@", "."]


class Tokenizer:
    def convert_ids_to_tokens(self, ids):
        return [WORDS[each] if each < len(WORDS) else f"w{each}" for each in ids]

    def convert_tokens_to_string(self, tokens):
        return "".join(tokens).replace("\u0120", " ")


def ids_of(*pieces):
    return [WORDS.index(each) for each in pieces]


def read(*rows, stops=(99,), tokenizer=None):
    texts = []
    for number, ids in enumerate(rows):
        columns = Columns(np.array(ids))
        (sample,) = samples_in(columns, {}, number, 0)
        texts.append((sample, columns.ids))
    return spelled_marks(texts, tokenizer or Tokenizer(), stops)


ENDED = ids_of("\u0120a", "</", "s", ">")


def test_a_mark_in_pieces_is_told_with_its_last_place():
    (mark,) = read(ENDED, [*ENDED, *ENDED, *ids_of("\u0120a")], ids_of("\u0120a"))
    assert mark == SpelledMark("</s>", 2, 1, False, ((0, 0, 1, 4), (0, 1, 5, 8)))


def test_whitespace_may_stand_behind_it():
    rows = [[*ENDED, *ids_of("\u010a")]] * 2
    assert read(*rows)[0].ends == 2


def test_a_mark_of_one_token_is_none():
    whole = ids_of("\u0120a", "</whole>")
    assert read(whole, whole) == ()


def test_a_mark_of_one_sample_is_not_written_down():
    assert read(ENDED, ids_of("\u0120a")) == ()


def test_nothing_is_read_where_something_ends_a_text():
    assert read(ENDED, ENDED, ids_of("\u0120a"), stops=(ids_of("\u0120a")[0],)) == ()


def test_a_tag_with_a_partner_is_told():
    opened = ids_of("<", "s", ">", "\u0120a", "</", "s", ">")
    first, second = read(opened, opened)
    assert (first.text, second.text) == ("</s>", "<s>")
    assert first.paired
    assert second.paired


def test_addresses_are_no_marks():
    row = ids_of("<", "s", "@", "s", ".", "s", ">")
    assert read(row, row) == ()


def test_signs_of_a_word_s_parts_are_left_out():
    row = ids_of("<", "s", "##e", ">")
    assert read(row, row)[0].text == "<se>"


def test_few_strings_and_positions_are_kept():
    row = [at for n in range(20, 40) for at in (*ids_of("<"), n, *ids_of(">"))]
    assert len(read(row, row)) == MARKS
    long = [*ids_of("\u0120a") * POSITIONS, *ENDED]
    assert read(long, long) == ()


def test_a_tokenizer_of_another_kind_is_passed_over():
    assert read(ENDED, ENDED, tokenizer=object()) == ()


def test_marks_are_kept_with_the_samples():
    special = {"stop": frozenset({99})}
    rows = [(0, n, Columns(np.array(ENDED))) for n in range(2)]
    event = rows_event(rows, special, Tokenizer(), 3)
    seen = SeenSamples.from_json(3, event.detail)
    assert [each.text for each in seen.marks] == ["</s>"]
    assert rows_event(rows, {}, Tokenizer(), 3).detail["marks"] == []
    del event.detail["marks"]
    assert SeenSamples.from_json(3, event.detail).marks == ()
