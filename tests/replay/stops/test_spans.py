"""Bad values are told by sample and token, whatever the tensor's layout."""

import pytest
import torch

from ftlab.replay.stops.spans import TokenSpan, spans_of, token_ids

SAMPLES, TOKENS = 3, 5
IDS = torch.arange(SAMPLES * TOKENS).view(SAMPLES, TOKENS)
BATCH = {"attention_mask": torch.ones(SAMPLES, TOKENS), "input_ids": IDS}


def bad_at(shape, *places):
    tensor = torch.zeros(shape)
    for place in places:
        tensor[place] = torch.nan
    return tensor


@pytest.mark.parametrize(
    ("shape", "place", "span"),
    [
        ((3, 5, 7), (1, 2, 4), TokenSpan(1, 2, 3)),
        (
            (3, 4, 5, 5),
            (2, 0, 3, 1),
            TokenSpan(2, 3, 4),
        ),  # attention
        ((12, 5, 5), (9, 3, 1), TokenSpan(2, 3, 4)),  # attention, heads folded in
        ((15, 7), (8, 0), TokenSpan(1, 3, 4)),
        ((12, 7), (8, 0), TokenSpan(2, 0, 1)),  # predicts the next
        ((3, 4, 7), (0, 2, 2), TokenSpan(0, 2, 3)),
        ((3, 9), (1, 8), TokenSpan(1)),
        ((3,), (2,), TokenSpan(2)),
    ],
)
def test_the_layout_is_recognised(shape, place, span):
    assert spans_of(bad_at(shape, place), BATCH) == (span,)


def test_neighbours_become_one_span_with_their_text():
    tensor = bad_at((3, 5), (1, 1), (1, 2), (1, 4))
    found = spans_of(tensor, BATCH, decode=lambda ids: "|".join(map(str, ids)))
    assert found == (TokenSpan(1, 1, 3, "6|7"), TokenSpan(1, 4, 5, "9"))


def test_a_sample_that_is_bad_throughout_is_named_alone():
    assert spans_of(bad_at((3, 5, 2), 1), BATCH) == (TokenSpan(1),)


@pytest.mark.parametrize("shape", [(), (7, 7), (4,)])
def test_a_tensor_without_samples_tells_nothing(shape):
    assert spans_of(torch.full(shape, torch.nan), BATCH) == ()


def test_values_that_are_bad_everywhere_tell_nothing():
    assert spans_of(torch.full((3, 5), torch.nan), BATCH) == ()


def test_ids_are_found_in_any_container():
    assert token_ids([{"labels": IDS, "x": torch.ones(2, 2)}]) is IDS
    assert token_ids({"pixels": torch.ones(3, 5)}) is None
