import pytest
import torch

from ftlab.probes.user.points import (
    MOMENTS,
    count_places,
    modules_at,
    nothing_there,
    parameters_at,
    parse,
)
from ftlab.records.errors import UnknownNameError
from tests.models import tiny_llama, tiny_lora


def paths(text, model):
    return [spot.path for spot in modules_at(parse(text), model)]


@pytest.mark.parametrize("text", ["", "post", ".post", "layers.0", "layers.0.posts"])
def test_a_point_without_a_known_end_is_refused(text):
    with pytest.raises(UnknownNameError, match="no point to probe"):
        parse(text)


def test_moments_of_the_step_are_points():
    assert [parse(text).kind for text in MOMENTS] == list(MOMENTS)
    assert all(
        count_places(parse(text), tiny_llama()) == (1, False) for text in MOMENTS
    )


def test_the_beginning_of_a_path_may_be_left_out():
    expected = [f"base_model.model.model.layers.{n}.self_attn" for n in (0, 1)]
    assert paths("layers.*.self_attn.post", tiny_lora()) == expected
    assert paths(f"{expected[0]}.post", tiny_lora()) == expected[:1]


def test_wrappers_are_left_out_of_paths_and_count_once():
    model = tiny_llama()
    names = paths("*.mlp.post", model)
    assert paths("*.mlp.post", torch.nn.DataParallel(model)) == names
    compiled = torch.compile(model, backend="eager")
    assert paths("*.mlp.post", compiled) == names
    assert all(spot.compiled for spot in modules_at(parse("*.mlp.post"), compiled))
    model.model.layers[0] = torch.compile(model.model.layers[0], backend="eager")
    spots = modules_at(parse("layers.*.post"), model)
    assert len({spot.path for spot in spots}) == len(spots)


def test_modules_come_before_parameters():
    model = tiny_lora()
    assert count_places(parse("q_proj.grad"), model) == (2, False)
    assert count_places(parse("q_proj.lora_A.default.weight.grad"), model) == (2, True)
    assert count_places(parse("q_proj.base_layer.weight.grad"), model) == (0, True)
    assert parameters_at(parse("a.post"), ["a"]) == []


def test_near_names_are_points_that_work():
    model = tiny_lora()
    point = parse("layers.*.attention.post")
    message = str(nothing_there(point, model))
    assert "'layers.*.self_attn.post'" in message
    assert count_places(parse("layers.*.self_attn.post"), model) == (2, False)
    wrong = str(nothing_there(parse("q_proj.lora_A.defalt.weight.grad"), model))
    assert "lora_A.default.weight.grad" in wrong


def test_an_encoder_in_eval_mode_takes_no_hook():
    encoder = torch.nn.TransformerEncoderLayer(8, 2, 16)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), encoder)
    (spot,) = modules_at(parse("linear1.post"), model)
    assert spot.hookable() is encoder.linear1
    encoder.eval()
    assert spot.hookable() is None


def test_a_module_that_is_gone_takes_no_hook():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    (spot,) = modules_at(parse("0.post"), model)
    del model
    assert spot.hookable() is None
