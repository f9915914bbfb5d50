"""The way through all rows: what is counted, kept and told."""

import pytest

from ftlab.probes.data import counting, scan as scan_module
from ftlab.probes.data.across.reports import report_answers
from ftlab.probes.data.files.entries import Broken, Entry, Source, entries_of
from ftlab.probes.data.scan import Looks, Scan
from ftlab.probes.data.texts.special_tokens import SpecialTokens
from ftlab.probes.data.token_counts import RowLengths, TokenCounter
from tests.probes.tokens import vocabularies


def source(rows):
    return Source("", "row", lambda: (Entry(at, row) for at, row in enumerate(rows)))


def scanned(rows, tokenizer=None, limit=0):
    counter = None if tokenizer is None else TokenCounter(tokenizer)
    lengths = None if counter is None else RowLengths(counter, None)
    looks = Looks(SpecialTokens(tokenizer), counter, lengths, limit)
    sources = [source(rows)]
    scan = Scan(sources, looks)
    for at, entry in entries_of(sources):
        scan.take(at, entry)
    scan.finish()
    return scan


def rows_with(scan, name):
    known = scan.findings.rows.get(name)
    return [] if known is None else known.numbers().tolist()


PAIRS = [{"prompt": f"Name {at} " * at, "completion": "Seven."} for at in range(50)]


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_lengths_do_not_depend_on_the_blocks(monkeypatch, block):
    monkeypatch.setattr(counting, "BLOCK_ROWS", block)
    tokenizer = vocabularies.byte_level()
    scan = scanned(PAIRS, tokenizer, limit=60)
    sizes = [
        sum(len(tokenizer(row[name])["input_ids"]) for name in ("prompt", "completion"))
        for row in PAIRS
    ]
    assert sorted(scan.lengths.elements()) == sorted(sizes)
    cut = rows_with(scan, "answer-cut-off") + rows_with(scan, "answer-cut-away")
    assert sorted(cut) == [at for at, size in enumerate(sizes) if size > 60]
    scan.close()


def test_an_answer_behind_the_limit_is_cut_away_whole():
    scan = scanned(PAIRS, vocabularies.byte_level(), limit=60)
    spot = scan.findings.spots["answer-cut-away"][0]
    assert "the answer from" in spot.says
    assert set(rows_with(scan, "answer-cut-away")).isdisjoint(
        rows_with(scan, "answer-cut-off")
    )


def test_a_text_of_its_own_has_no_answer_to_lose():
    tokenizer = vocabularies.byte_level()
    end = tokenizer.eos_token
    texts = ["Once upon a time. " * 9, f"Once upon a time. {end}", "Once. " * 40 + end]
    scan = scanned(texts, tokenizer, limit=20)
    assert rows_with(scan, "text-cut-off") == [0]
    assert rows_with(scan, "answer-cut-off") == [2]
    scan.close()


def test_without_a_tokenizer_characters_are_counted():
    scan = scanned(["abc", "de"])
    assert dict(scan.lengths) == {3: 1, 2: 1}


def test_rows_that_are_lost_keep_the_numbers_of_the_others():
    lost = Broken("row group 1 cannot be read", rows=3)
    scan = scanned(["a", lost, "a", "b"])
    assert scan.rows == 6
    assert rows_with(scan, "unreadable-row") == [1, 2, 3]
    assert [(r.tolist(), f.tolist()) for r, f in scan.keys.repeated()] == [([4], [0])]
    assert scan.texts is not None
    assert [scan.texts[at] for at in range(6)] == [
        "\x00a\x00",
        "",
        "",
        "",
        "\x00a\x00",
        "\x00b\x00",
    ]
    assert scan.beginning(5) == "b"


def test_what_is_shown_is_escaped():
    scan = scanned([{"text": "a\u202eb\x1b]0;x\x07"}])
    (spot,) = scan.findings.spots["invisible-character"]
    assert spot.excerpt == r"a\u202eb\x1b]0;x\x07"
    assert (spot.row, spot.column, spot.char) == (0, "text", 1)


def test_half_a_character_does_not_stop_the_counting():
    scan = scanned(["cut \ud83d", "whole"], vocabularies.byte_level())
    assert rows_with(scan, "half-character") == [0]
    assert sum(scan.lengths.values()) == 2


def test_unknown_tokens_are_named_with_their_text():
    scan = scanned(["Name a prime", "\u0d9e\ua4ea"], vocabularies.unigram())
    assert rows_with(scan, "unknown-tokens") == [1]


def test_rows_of_tokens_are_counted_and_compared():
    rows = [{"input_ids": [1, 2, 3]}, {"input_ids": [1, 2, 3]}, {"input_ids": [4]}]
    scan = scanned(rows, vocabularies.byte_level(), limit=2)
    assert dict(scan.lengths) == {3: 2, 1: 1}
    assert [(r.tolist(), f.tolist()) for r, f in scan.keys.repeated()] == [([1], [0])]


def test_a_huge_text_is_named(monkeypatch):
    monkeypatch.setattr(scan_module, "LONG", 10)
    assert rows_with(scanned(["a" * 11, "b" * 10]), "huge-row") == [0]


def test_forms_and_roles_are_counted():
    talk = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    scan = scanned([{"messages": talk}, "text", {"a": 1}])
    assert dict(scan.formats) == {"messages": 1, "text": 1, "": 1}
    assert dict(scan.roles) == {"user": 1, "assistant": 1, "": 1}
    assert rows_with(scan, "unknown-columns") == [2]


def test_every_look_is_taken_at_all_rows():
    said = ["", r"One.\n\nTwo.", "It is lo\ufffdt.", "<think>\nIt is so."]
    scan = scanned([{"prompt": "Why?", "completion": each} for each in said])
    assert rows_with(scan, "empty-answer") == [0]
    assert rows_with(scan, "escaped-text") == [1]
    assert rows_with(scan, "broken-encoding") == [2]
    assert rows_with(scan, "reasoning-never-closed") == [3]


@pytest.mark.parametrize(("label", "cut"), [(False, 0), (True, 40), (None, 40)])
def test_answers_that_are_not_wanted_may_all_break_off_at_one_length(label, cut):
    row = {"prompt": "Why?"} | ({} if label is None else {"label": label})
    rows = [row | {"completion": "It is so. " * (1 + n % 9)} for n in range(60)]
    words = " ".join(f"word{n}" for n in range(60))
    rows += [row | {"completion": f"{'a ' * (n % 8)}{words}"[:180]} for n in range(40)]
    scan = scanned(rows)
    report_answers(scan)
    assert len(rows_with(scan, "answer-of-cut-length")) == cut
