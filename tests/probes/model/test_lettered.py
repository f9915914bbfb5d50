"""The letters of LoRA within longer words."""

from torch import nn

from ftlab.faults.adapter.freezing.letters_in_a_name import build
from ftlab.faults.builders.tiny import llama, lora
from ftlab.probes.model.lettered import lettered


def with_part(name, part):
    model = llama()
    setattr(model.model.layers[0], name, part)
    model = lora(model)
    for path, parameter in model.named_parameters():
        parameter.requires_grad_("lora" in path)
    return lettered(model)


def test_a_word_with_the_letters_in_it_is_named():
    assert lettered(build(False).model)["count"] == 2
    assert lettered(build(True).model) == {}


def test_a_second_part_that_learns_is_a_choice():
    model = build(False).model
    model.get_output_embeddings().requires_grad_(True)
    assert lettered(model) == {}


def test_letters_that_do_not_learn_are_one_too():
    model = build(False).model
    model.get_parameter("base_model.model.model.layers.0.floral.bias").requires_grad_(
        False
    )
    assert lettered(model) == {}


def test_layers_called_lora_are_somebodys_own_adapter():
    assert with_part("lora_extra", nn.Linear(64, 64)) == {}
    assert with_part("qlora", nn.Linear(64, 64)) == {}


def test_a_matrix_as_narrow_as_the_factors_is_one():
    assert with_part("mylorapart", nn.Linear(64, 4, bias=False)) == {}
    assert with_part("mylorapart", nn.Linear(64, 64, bias=False))["count"] == 1
