"""What is drawn or computed when an adapter is made, the file's against the model's."""

from types import SimpleNamespace

import peft
import pytest
import torch

from ftlab.faults.builders.tiny import llama
from ftlab.probes.files.adapter_file_start import DRAWN, start_off

MADE = {
    "VERA": ("VeraConfig", {"r": 16}),
    "PVERA": ("PveraConfig", {"r": 16}),
    "RANDLORA": ("RandLoraConfig", {"r": 16}),
    "FROD": ("FrodConfig", {}),
    "TINYLORA": ("TinyLoraConfig", {"r": 2}),
    "UNILORA": ("UniLoraConfig", {}),
    "FOURIERFT": ("FourierFTConfig", {"n_frequency": 50}),
    "WAVEFT": ("WaveFTConfig", {"n_frequency": 50}),
}


def settings(kind, key, save=False):
    name, others = MADE[kind]
    if not hasattr(peft, name):
        pytest.skip(f"this version of PEFT has no {name}")
    config = getattr(peft, name)
    if hasattr(config(), "save_projection"):
        others = others | {"save_projection": save}
    return config(target_modules=["q_proj", "o_proj"], **{DRAWN[kind]: key}, **others)


def test_each_method_that_draws_is_tried_here():
    assert set(MADE) == set(DRAWN)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", MADE)
def test_another_key_gives_other_outputs_from_the_same_file(kind, tmp_path):
    """The oracle: the values of one model, put into a second one."""
    torch.manual_seed(0)
    first = peft.get_peft_model(llama(), settings(kind, 7))
    with torch.no_grad():
        for parameter in first.parameters():
            if parameter.requires_grad:
                parameter.normal_()
    first.save_pretrained(tmp_path)
    values = peft.load_peft_weights(str(tmp_path), device="cpu")
    ids, outputs = torch.arange(8)[None], {}
    for key in (7, 9):
        model = peft.get_peft_model(llama(), settings(kind, key))
        peft.set_peft_model_state_dict(model, values)
        with torch.no_grad():
            outputs[key] = model.eval()(input_ids=ids).logits
    with torch.no_grad():
        wanted = first.eval()(input_ids=ids).logits
    assert torch.equal(outputs[7], wanted)
    assert not torch.allclose(outputs[9], wanted)


@pytest.mark.parametrize("kind", MADE)
def test_another_key_is_told_where_the_file_lacks_what_is_drawn(kind):
    saved = settings(kind, 7).to_dict() | {"peft_type": kind}
    assert start_off(saved, settings(kind, 9)) == {DRAWN[kind]: [7, 9]}
    assert start_off(saved, settings(kind, 7)) == {}
    if "save_projection" in saved:
        kept = settings(kind, 7, save=True).to_dict() | {"peft_type": kind}
        assert start_off(kept, settings(kind, 9)) == {}


def lora(start):
    return SimpleNamespace(peft_type="LORA", init_lora_weights=start)


@pytest.mark.parametrize("start", ["pissa", "pissa_niter_4", "olora", "corda"])
def test_a_computed_start_is_told_where_the_model_has_none(start):
    saved = {"peft_type": "LORA", "init_lora_weights": start}
    assert start_off(saved, lora(True)) == {"init_lora_weights": [start, True]}
    assert start_off(saved, lora(start)) == {}


def test_starts_that_leave_the_base_alone_may_differ():
    saved = {"peft_type": "LORA", "init_lora_weights": "gaussian"}
    assert start_off(saved, lora(True)) == {}
    assert start_off(saved | {"init_lora_weights": True}, lora("pissa")) == {}


def test_another_method_or_no_configuration_is_not_compared():
    saved = {"peft_type": "VERA", "projection_prng_key": 7}
    assert start_off(saved, lora(True)) == start_off({}, lora(True)) == {}
    assert start_off(saved, None) == {}
