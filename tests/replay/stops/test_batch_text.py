import torch

from ftlab.replay.stops.batch_text import BEFORE, WINDOW, batch_text
from ftlab.replay.stops.spans import TokenSpan

IDS = torch.arange(40).reshape(2, 20)


def word(ids):
    return f"w{ids[0]}"


def test_marks_the_tokens_of_the_spans_and_shows_only_their_samples():
    (found,) = batch_text({"input_ids": IDS}, [TokenSpan(1, 2, 4)], word)
    assert found.sample == 1
    assert found.pieces[:4] == ("w20", "w21", "w22", "w23")
    assert found.marked[:5] == (False, False, True, True, False)


def test_two_spans_of_one_sample_are_one_row():
    spans = [TokenSpan(0, 1, 2), TokenSpan(0, 5, 6)]
    (found,) = batch_text({"input_ids": IDS}, spans, word)
    assert [at for at, bad in enumerate(found.marked) if bad] == [1, 5]


def test_a_span_without_tokens_means_the_whole_sample():
    (found,) = batch_text({"input_ids": IDS}, [TokenSpan(0)], word)
    assert all(found.marked)


def test_a_long_sample_is_shown_around_its_first_bad_token():
    ids = torch.arange(400).reshape(1, 400)
    (found,) = batch_text({"input_ids": ids}, [TokenSpan(0, 300, 302)], word)
    assert (found.start, len(found.pieces)) == (300 - BEFORE, WINDOW)
    assert found.marked.index(True) == BEFORE
    assert repr(found).startswith("sample 0: ...'w288' ")
    assert repr(found).endswith(" ...")


def test_without_spans_the_first_samples_are_shown_unmarked():
    found = batch_text({"input_ids": IDS}, [], word)
    assert [one.sample for one in found] == [0, 1]
    assert not any(any(one.marked) for one in found)


def test_without_a_tokenizer_ids_are_shown_and_without_ids_nothing():
    assert batch_text({"input_ids": IDS}, [], None)[0].pieces[:2] == ("0", "1")
    assert batch_text({"x": torch.zeros(2, 3)}, [], None) == ()
    assert batch_text(None, [], None) == ()
