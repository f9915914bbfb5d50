"""Adapters and models that had been compared or shown wrongly."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from peft import LoraConfig, PromptTuningConfig, get_peft_model, inject_adapter_in_model
from transformers import AutoModelForCausalLM, BitsAndBytesConfig

import ftlab
from ftlab.faults.builders.tiny import batches, gpt2, llama, lora
from ftlab.records.errors import BadValueError
from tests.laboratory.test_anatomy import noisy
from tests.laboratory.test_comparison import drawn


def in_four_bits(folder: Path) -> Any:
    config = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4")
    return AutoModelForCausalLM.from_pretrained(
        folder, quantization_config=config, dtype=torch.float32
    )


def test_weights_of_four_bits_are_compared_by_what_they_stand_for(
    tmp_path: Path,
) -> None:
    model = llama(hidden_size=128)
    model.save_pretrained(tmp_path / "one")
    model.model.layers[0].mlp.up_proj.weight.data.mul_(2)
    model.save_pretrained(tmp_path / "two")
    view = ftlab.compare(in_four_bits(tmp_path / "one"), in_four_bits(tmp_path / "two"))
    (found,) = view.different
    assert found.place == "layers.0.mlp.up"
    assert found.relative == pytest.approx(0.5, rel=1e-3)
    beside = ftlab.compare(in_four_bits(tmp_path / "one"), tmp_path / "one")
    lost = [e.relative for e in beside.different if e.kind == "weight"]
    assert len(lost) == 14
    assert all(0.05 < each < 0.15 for each in lost)


def test_the_weights_of_gpt2_lie_the_other_way_round(tmp_path: Path) -> None:
    gpt2().save_pretrained(tmp_path)
    view = ftlab.adapters(in_four_bits(tmp_path), original=tmp_path).quantisation
    assert view is not None
    assert all(0.05 < each.relative < 0.15 for each in view.layers)


def test_an_original_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    llama(hidden_size=128).save_pretrained(tmp_path)
    model = in_four_bits(tmp_path)
    with pytest.raises(BadValueError, match="of that shape"):
        ftlab.adapters(model, original=gpt2())
    with pytest.raises(BadValueError, match="no layer in few bits"):
        ftlab.adapters(lora(), original=tmp_path)
    with pytest.raises(BadValueError, match="neither a folder nor a model"):
        ftlab.adapters(model, original=3)


def test_files_of_all_kinds_fit_the_live_model(tmp_path: Path) -> None:
    for number, settings in enumerate(
        ({"use_dora": True}, {"modules_to_save": ["lm_head"]}, {"use_rslora": True})
    ):
        model = drawn(1, task_type="CAUSAL_LM", **settings)
        model.save_pretrained(tmp_path / str(number))
        view = ftlab.compare(tmp_path / str(number), model)
        assert view.equal, repr(view)
    module = model.base_model.model.model.layers[0].self_attn.q_proj
    module.lora_A["default"].weight.data *= 2
    assert len(ftlab.compare(tmp_path / "2", model).different) == 1


def test_a_magnitude_that_differs_is_told(tmp_path: Path) -> None:
    model = drawn(1, use_dora=True)
    model.save_pretrained(tmp_path)
    for name, parameter in model.named_parameters():
        if "magnitude" in name:
            parameter.data *= 3
    found = ftlab.compare(tmp_path, model).different
    assert {each.kind for each in found} == {"lora_magnitude_vector"}


def test_adapters_that_are_called_like_layers() -> None:
    model = llama()
    model = get_peft_model(model, LoraConfig(target_modules=["q_proj"]), "0")
    model.add_adapter("1", LoraConfig(target_modules=["q_proj"]))
    other = copy.deepcopy(model)
    block = other.base_model.model.model.layers[1]
    block.mlp.up_proj.weight.data += 1
    block.input_layernorm.weight.data += 1
    found = {each.place for each in ftlab.compare(model, other).different}
    assert found == {"layers.1.mlp.up", "layers.1.attention.pre.norm"}


def test_several_active_or_merged_adapters_are_refused() -> None:
    model = drawn(1)
    model.add_adapter("b", LoraConfig(target_modules=["q_proj"]))
    model.base_model.set_adapter(["default", "b"])
    with pytest.raises(
        BadValueError, match=r"several adapters are active \(b, default"
    ):
        ftlab.compare(model, model)
    merged = drawn(1)
    merged.merge_adapter()
    with pytest.raises(BadValueError, match="unmerge_adapter"):
        ftlab.compare(merged, drawn(1))
    layers = ftlab.adapters(merged, directions=14).anatomy.layers
    assert all(each.intruders < 0 for each in layers)


def test_a_lora_without_its_settings_has_no_known_scaling(tmp_path: Path) -> None:
    drawn(1).save_pretrained(tmp_path)
    (tmp_path / "adapter_config.json").unlink()
    with pytest.raises(BadValueError, match="its scaling is not known"):
        ftlab.compare(tmp_path, tmp_path)


def test_a_file_that_is_cut_off_is_named(tmp_path: Path) -> None:
    drawn(1).save_pretrained(tmp_path)
    file = tmp_path / "adapter_model.safetensors"
    file.write_bytes(file.read_bytes()[:200])
    with pytest.raises(BadValueError, match=r"adapter_model\.safetensors' cannot be"):
        ftlab.compare(tmp_path, tmp_path)


def test_nan_is_first_and_named() -> None:
    model = noisy(lora())
    layer = model.base_model.model.model.layers[1].self_attn.v_proj
    layer.lora_A["default"].weight.data[0, 0] = torch.nan
    view = ftlab.adapters(model, batches()[0])
    assert "NaN or infinity in 1 layer, first at layers.1.attention.v" in repr(view)
    assert len(view.figure().axes) >= 2
    other = noisy(lora())
    compared = ftlab.compare(other, model)
    assert compared.different[0].place == "layers.1.attention.v"
    assert "NaN or infinity on one side" in repr(compared)
    base, nan = llama(), llama()
    nan.model.norm.weight.data[0] = torch.nan
    assert ftlab.compare(nan, copy.deepcopy(nan)).equal
    assert not ftlab.compare(base, nan).equal


def test_an_update_of_nothing_is_told_without_a_batch() -> None:
    assert "B A is 0 in 4 of 4 layers" in repr(ftlab.adapters(lora()))


def test_the_picture_shows_the_active_adapter() -> None:
    model = noisy(lora())
    model.add_adapter("c", LoraConfig(r=4, target_modules=["q_proj"]))
    for name, parameter in model.named_parameters():
        if ".c." in name:
            parameter.data.normal_(0, 9)
    view = ftlab.adapters(model, batches()[0])
    ranks = [e.rank_of(0.9) for e in view.anatomy.layers if e.adapter != "c"]
    shown = view.figure().axes[1].images[0].get_array()
    assert float(np.max(shown)) == pytest.approx(max(ranks))


def test_what_is_compiled_or_injected_is_measured_too() -> None:
    model = noisy(lora())
    plain = ftlab.adapters(model, batches()[0]).anatomy
    found = ftlab.adapters(torch.compile(model), batches()[0]).anatomy
    assert [e.effect for e in found.layers] == [e.effect for e in plain.layers]
    config = LoraConfig(target_modules=["q_proj"])
    injected = noisy(inject_adapter_in_model(config, llama()))
    layers = ftlab.adapters(injected, batches()[0]).anatomy.layers
    assert all(each.effect > 0 for each in layers)


def test_a_prompt_leaves_no_forward_behind() -> None:
    config = PromptTuningConfig(num_virtual_tokens=4, task_type="CAUSAL_LM")
    model = get_peft_model(llama(), config)
    ftlab.adapters(model, batches()[0])
    assert "forward" not in vars(model)


def test_disjoint_adapters_are_not_equal() -> None:
    one, other = (drawn(1, target_modules=[name]) for name in ("q_proj", "up_proj"))
    view = ftlab.compare(one, other)
    assert not view.equal
    assert view.comparison.alone[0]


def test_a_comparison_outlives_an_execution_that_fails() -> None:
    view = ftlab.compare(drawn(1), drawn(2), batch={"nothing": 3})
    assert view.different
    assert "not executed: ValueError" in repr(view)


def test_a_start_that_takes_from_the_base_is_noted() -> None:
    config = LoraConfig(target_modules=["q_proj"], init_lora_weights="pissa")
    view = ftlab.adapters(get_peft_model(llama(), config), batches()[0])
    assert "started as pissa" in repr(view)


@pytest.mark.parametrize(
    ("asked", "words"),
    [({"ranks": 4}, "ranks=4"), ({"ranks": [True]}, "ranks has True")],
)
def test_ranks_are_several_whole_numbers(asked: Any, words: str) -> None:
    with pytest.raises(BadValueError, match=words):
        ftlab.adapters(lora(), batches()[0], **asked)
