"""Positions are those that a model looks up, in each of its ways."""

import pytest
import torch

from ftlab.probes.attention.documents import Marks, documents_of
from ftlab.probes.attention.given import of_model
from ftlab.probes.attention.positions import Shift, shifts_of
from tests.probes.attention import tiny

PADS = 5


def batch(**more):
    ids = torch.randint(3, 60, (2, 12), generator=torch.Generator().manual_seed(1))
    return {"input_ids": ids, **more}


def padded(**more):
    mask = torch.ones(2, 12, dtype=torch.long)
    mask[0, :PADS] = 0
    return batch(attention_mask=mask, **more)


def shifts(model, given):
    return shifts_of(of_model(model, given), documents_of(given, Marks()))


def counted():
    mask = padded()["attention_mask"]
    return (mask.cumsum(-1) - 1).clamp(min=0)


@pytest.mark.parametrize("build", [tiny.gpt2, tiny.gpt_neo, tiny.bert])
def test_tables_that_count_padding(build):
    assert shifts(build(), padded()) == [Shift(0, PADS, PADS, "padding")]


@pytest.mark.parametrize("build", [tiny.gpt2, tiny.gpt_neo, tiny.bert])
def test_positions_counted_by_the_mask_are_right(build):
    assert shifts(build(), padded(position_ids=counted())) == []


@pytest.mark.parametrize(
    "build", [tiny.opt, tiny.llama, tiny.bloom, tiny.gemma, tiny.t5, tiny.bart]
)
def test_models_that_look_nothing_up_or_count_by_the_mask(build):
    assert shifts(build(), padded()) == []


def test_the_logits_move_exactly_where_a_shift_is_told():
    for build in (tiny.gpt2, tiny.opt, tiny.llama):
        torch.manual_seed(0)
        model = build().eval()
        given = padded()
        alone = {"input_ids": given["input_ids"][:1, PADS:]}
        with torch.no_grad():
            moved = model(**given).logits[0, PADS:] - model(**alone).logits[0]
        assert bool(moved.abs().max() > 1e-4) is bool(shifts(model, given)), build


def test_positions_that_run_on_over_documents():
    numbers = torch.tensor([[0] * 4 + [1] * 8] * 2)
    found = [Shift(row, 4, 4, "documents") for row in range(2)]
    assert shifts(tiny.gpt2(), batch(seq_idx=numbers)) == found
    assert shifts(tiny.llama(), batch(seq_idx=numbers)) == []


def test_documents_that_a_bos_alone_tells_may_be_meant():
    given = batch()
    given["input_ids"][:, 4] = 1
    told = documents_of(given, Marks(bos=frozenset({1})))
    assert told[0].count == 2
    assert shifts_of(of_model(tiny.gpt2(), given), told) == []


def test_padding_behind_the_text_is_no_shift():
    mask = padded()["attention_mask"].flip(1)
    assert shifts(tiny.gpt2(), batch(attention_mask=mask)) == []


def test_rows_of_nothing_but_padding_are_left_out():
    mask = torch.zeros(2, 12, dtype=torch.long)
    assert shifts(tiny.gpt2(), batch(attention_mask=mask)) == []
