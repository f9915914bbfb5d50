"""What the laboratory says of a model on a CUDA device."""

import pytest
import torch
import transformers

import ftlab
from ftlab.laboratory.doctor import machine, probes
from tests.laboratory.flow.test_flow import IDS, LLAMA, Planted, loss_of
from tests.laboratory.flow.ways import WAYS, marked_line

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


def llama(way=None):
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**LLAMA))
    if way is not None:
        model.model.layers[2] = Planted(model.model.layers[2], way)
    return model.to("cuda", torch.bfloat16)


def test_gradients_flow_as_on_the_processor():
    model = llama()
    view = ftlab.flow({"input_ids": IDS, "labels": IDS}, model)
    assert view.ok
    model.float().cpu()
    there = {e.name: e.arrives for e in ftlab.flow(loss_of(model), model).flow.blocks}
    for block in view.flow.blocks[1:]:
        assert block.arrives == pytest.approx(there[block.name], rel=0.1)


@pytest.mark.parametrize("way", WAYS[:6], ids=lambda way: way.__name__)
def test_a_cut_is_found_at_its_line(way):
    flow = ftlab.flow({"input_ids": IDS, "labels": IDS}, llama(way)).flow
    assert [marked_line(way) in each.library_line for each in flow.cuts] == [True]


def test_a_backward_is_held_against_values():
    x = torch.randn(3, 4, device="cuda")
    assert ftlab.gradcheck(torch.nn.functional.silu, x).ok


def test_the_doctor_sees_the_device():
    found = {each.what: each for each in (*machine.devices(), *probes.computing())}
    assert any(torch.cuda.get_device_name() in what for what in found)
    assert found["bfloat16 on cuda"].health == "works"


def test_parts_are_held_to_the_library_in_few_bits():
    model, batch = llama(), {"input_ids": IDS}
    assert ftlab.activations(model, batch).ok
    for layer in model.model.layers:
        layer.mlp.act_fn = torch.nn.ReLU()
    (fault,) = ftlab.activations(model, batch).faults
    assert fault.said == "ReLU stands where the configuration has SiLUActivation"


def test_a_model_says_where_it_is():
    table = ftlab.model(llama()).table()
    assert set(table["devices"][table["own"] > 0]) == {"cuda:0"}
