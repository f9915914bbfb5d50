"""Flash attention's rules, against the kernels' inputs that transformers computes."""

import itertools

import numpy as np
import torch
from hypothesis import given, settings, strategies as st
from transformers import modeling_flash_attention_utils as rules

from ftlab.probes.attention.flash import flash_pattern


def seen_of(positions=None, mask=None, rows=1, **more):
    length = (positions if positions is not None else mask).shape[1]
    pattern, said = flash_pattern(
        {"position_ids": positions, **more},
        rows,
        length,
        mask=mask,
        causal=True,
        window=0,
    )
    every = np.arange(length)
    return np.stack([pattern.tile(row, every, every) for row in range(rows)]), said


def blocks(starts, length):
    """The mask of varlen kernels: causal within each of the cumulated lengths."""
    seen = np.zeros((length, length), bool)
    for first, last in itertools.pairwise(starts):
        size = last - first
        seen[first:last, first:last] = np.tril(np.ones((size, size), bool))
    return seen


@settings(max_examples=60, deadline=None)
@given(lengths=st.lists(st.integers(1, 6), min_size=1, max_size=5))
def test_position_ids_cut_as_transformers_cuts_them(lengths):
    positions = torch.cat([torch.arange(n) for n in lengths])[None]
    seen, _ = seen_of(positions)
    if bool(rules._is_packed_sequence(positions, 1)):
        (starts, _), _ = rules.prepare_fa_kwargs_from_position_ids(positions)
        wanted = blocks(starts.tolist(), sum(lengths))
    else:
        wanted = np.tril(np.ones((sum(lengths),) * 2, bool))
    np.testing.assert_array_equal(seen[0], wanted)


def test_position_ids_of_several_rows_tell_nothing():
    positions = torch.tensor([[0, 1, 0, 1]]).expand(2, -1)
    seen, said = seen_of(positions, rows=2)
    assert seen[0, 2, 0]
    assert "one document" in said


def test_a_2d_mask_unpads_and_hides_the_documents():
    positions = torch.tensor([[0, 0, 1, 0, 1]])
    mask = torch.tensor([[0, 1, 1, 1, 1]])
    seen, said = seen_of(positions, mask)
    assert "unpads" in said
    assert seen[0, 3, 1]
    assert not seen[0, :, 0].any()
    assert not seen[0, 0].any()


def test_lengths_cut_only_when_all_four_are_there():
    four = {
        "cu_seq_lens_q": torch.tensor([0, 2, 4]),
        "cu_seq_lens_k": torch.tensor([0, 2, 4]),
        "max_length_q": 2,
        "max_length_k": 2,
    }
    positions = torch.arange(4)[None]
    seen, _ = seen_of(positions, **four)
    np.testing.assert_array_equal(seen[0], blocks([0, 2, 4], 4))
    del four["max_length_k"]
    seen, _ = seen_of(positions, **four)
    assert seen[0, 3, 0]
