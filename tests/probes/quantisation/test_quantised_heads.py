"""Which heads are quantised, and whether they look new."""

import pytest
import torch

from ftlab.probes.quantisation.quantised_heads import quantised_heads

bnb = pytest.importorskip("bitsandbytes")


class Body(torch.nn.Module):
    def __init__(self, head):
        super().__init__()
        self.words = torch.nn.Embedding(96, 64)
        self.blocks = torch.nn.ModuleList([four_bit(torch.randn(64, 64))])
        self.head = head


def four_bit(weight):
    made = bnb.nn.Linear4bit(weight.shape[1], weight.shape[0], bias=False)
    made.weight = bnb.nn.Params4bit(weight, requires_grad=False, quant_type="nf4")
    return made.to("cpu")


def head(rows, std):
    torch.manual_seed(0)
    return four_bit(torch.randn(rows, 64) * std)


DRAWN = 1 / (3 * 64) ** 0.5


def test_a_head_of_as_many_rows_as_words_is_the_output():
    (found,) = quantised_heads(Body(head(96, 1.0)))
    assert (found["module"], found["kind"], found["bits"]) == ("head", "output", 4)
    assert found["shape"] == [96, 64]


@pytest.mark.parametrize(("std", "fresh"), [(DRAWN, True), (2 * DRAWN, False)])
def test_a_new_head_has_the_deviation_that_it_was_drawn_with(std, fresh):
    (found,) = quantised_heads(Body(head(3, std)))
    assert found["kind"] == "task"
    assert (found["drawn_with"] is not None) == fresh


def test_a_head_in_floating_point_is_none():
    assert quantised_heads(Body(torch.nn.Linear(64, 3))) == []


def test_an_adapter_on_the_head_is_seen():
    peft = pytest.importorskip("peft")
    config = peft.LoraConfig(r=2, target_modules=["head"])
    model = peft.get_peft_model(Body(head(96, 1.0)), config)
    (found,) = quantised_heads(model)
    assert found["adapted"]
    assert found["module"] == "base_model.model.head"
