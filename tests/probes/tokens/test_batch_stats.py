"""Numbers of each row, against a second, dumber computation."""

import numpy as np
import torch

from ftlab.probes.tokens.batch_stats import ROWS, is_looked_at, read, reduced


def stats(**fields):
    values, layout = reduced(fields)
    assert values.dtype is torch.float32
    return {each.name: each for each in read(values.numpy(), layout)}


def test_ids_have_extremes_places_and_a_sum():
    ids = torch.randint(0, 50_000, (5, 7), generator=torch.Generator().manual_seed(0))
    found = stats(input_ids=ids)["input_ids"]
    rows = ids.numpy()
    assert (found.top == rows.max(1)).all()
    assert (found.low == rows.min(1)).all()
    assert (found.top_at == rows.argmax(1)).all()
    assert (found.low_at == rows.argmin(1)).all()
    assert (found.further == rows.sum(1)).all()


def test_labels_that_are_ignored_are_neither_large_nor_small():
    found = stats(labels=torch.tensor([[-100, 7, 3], [-100, -100, -100]]))["labels"]
    assert found.top.tolist() == [7, 0]
    assert found.low.tolist() == [0, 0]
    assert found.further.tolist() == [2, 0]


def test_one_class_a_row_is_a_row_of_one():
    found = stats(labels=torch.tensor([2, 0, 1]))["labels"]
    assert found.top.tolist() == [2, 0, 1]
    assert found.top_at.tolist() == [0, 0, 0]


def test_nan_is_an_extreme_of_pictures_and_of_vectors():
    pixels, vectors = torch.zeros(2, 3, 4, 4), torch.zeros(2, 5, 6)
    pixels[1, 2, 3, 3] = vectors[0, 4, 1] = torch.nan
    found = stats(pixel_values=pixels, inputs_embeds=vectors)
    assert np.isnan(found["pixel_values"].top).tolist() == [False, True]
    assert found["pixel_values"].top_at.tolist() == [-1, -1]
    assert np.isnan(found["inputs_embeds"].top).tolist() == [True, False]
    assert found["inputs_embeds"].top_at[0] == 4


def test_many_rows_are_looked_at_in_part():
    assert len(stats(x=torch.zeros(ROWS + 1, 2))["x"].top) == ROWS


def test_masks_and_weights_are_no_inputs():
    ones = torch.ones(2, 3)
    names = ("attention_mask", "attention_bias", "sample_weight")
    assert not any(is_looked_at(name, ones) for name in names)
    assert is_looked_at("x", ones)
    assert not is_looked_at("x", ones.long())
