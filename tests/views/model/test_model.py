"""The model view says, draws and sends what was read."""

import json

import pytest
import torch
from torch import nn

import ftlab
from ftlab.faults.builders.tiny import llama, lora
from ftlab.records.errors import BadValueError
from tests.laboratory.modules.wrapped import Named


def test_the_text_is_this():
    assert repr(ftlab.model(Named(lora()))).splitlines()[:2] == [
        "Model Named: 94 K parameters, 3.58 K learn, 367 KiB (float32)",
        "  ! checkpoints: each holds the whole model, 367 KiB, in place of the "
        "adapters' 14 KiB, and no adapter_config.json ← Named is no PeftModel: the "
        "adapters at backbone are hidden ← put your own parts on the base model, and "
        "get_peft_model around all",
    ]


def test_a_healthy_model_has_no_mark():
    said = repr(ftlab.model(lora()))
    assert "✗" not in said
    assert "!" not in said


def test_the_page_sends_each_kind_once():
    small = len(json.dumps(ftlab.model(llama(num_hidden_layers=2)).widget().spec))
    large = len(json.dumps(ftlab.model(llama(num_hidden_layers=80)).widget().spec))
    assert large < small + 80 * 22


def test_a_click_is_answered_by_path():
    model = lora()
    made = ftlab.model(model).widget()
    made._hear(None, {"name": "1 head", "path": "base_model.model.lm_head"}, [])
    (one,) = made.answer["tensors"]
    assert made.answer["name"] == "1 head"
    assert one["name"] == "weight (128 \u00d7 64)"
    assert sum(one["counts"]) == 128 * 64
    assert json.dumps(made.answer)


@pytest.mark.parametrize("content", [None, {}, {"path": 3}, {"path": ["lm_head"]}, "x"])
def test_questions_without_sense_are_left_alone(content):
    made = ftlab.model(llama()).widget()
    made._hear(None, content, [])
    assert made.answer == {}


def test_a_failure_within_a_look_is_told_in_the_page(monkeypatch):
    model = llama()
    made = ftlab.model(model).widget()
    del model.lm_head
    made._hear(None, {"name": "1", "path": "lm_head"}, [])
    assert "AttributeError" in made.answer["error"]


def test_hostile_names_stay_text():
    model = nn.Module()
    model.add_module("<img src=x onerror=alert(1)>\x1b[2J", nn.Linear(2, 2))
    view = ftlab.model(model)
    assert "<img" not in view._repr_html_()
    assert "\x1b" not in repr(view)
    assert "\x1b" not in json.dumps(view.widget().spec)


def test_the_static_page_has_the_folded_tree():
    page = ftlab.model(llama(num_hidden_layers=8))._repr_html_()
    assert "layers.0…7 \u00d7 8" in page
    assert page.count("<details") < 12
    bundle, _ = ftlab.model(llama())._repr_mimebundle_()
    assert {"text/plain", "text/html"} < set(bundle)


def test_the_figure_shows_all_bytes_once():
    view = ftlab.model(lora())
    left, right = view.figure().axes
    drawn = sum(patch.get_width() for patch in left.patches)
    assert drawn == view.anatomy.modules[0].bytes
    assert len(right.patches) == 4


def test_the_table_has_a_row_for_each_module():
    model = lora()
    table = ftlab.model(model).table()
    assert len(table) == sum(1 for _ in model.modules())
    assert table["adapters"].str.contains("active").sum() == 4
    assert set(ftlab.model(model).trainer()["state"]) <= {"noted", "works"}


@pytest.mark.parametrize("given", [None, 3, "model", {"model": 1}])
def test_what_is_no_model_is_refused_with_the_call(given):
    with pytest.raises(BadValueError, match=r"ftlab\.model\(trainer\.model\)"):
        ftlab.model(given)


def test_a_trainer_gives_its_model():
    class Trainer:
        model = llama()

    assert ftlab.model(Trainer()).anatomy.modules[0].kind == "LlamaForCausalLM"


def test_a_model_of_one_layer_and_one_of_none_are_shown():
    assert repr(ftlab.model(nn.Linear(2, 2))).startswith("Model Linear: 6 parameters")
    empty = ftlab.model(nn.Module())
    assert empty.figure().axes
    assert empty._repr_html_()


def odd_ones():
    sparse = nn.Module()
    sparse.weight = nn.Parameter(torch.eye(4).to_sparse())
    yield nn.Sequential(nn.LazyLinear(3))
    yield sparse
    yield nn.utils.parametrizations.weight_norm(nn.Linear(3, 3))
    yield torch.jit.script(nn.Sequential(nn.Linear(2, 2)))


@pytest.mark.parametrize("model", odd_ones(), ids=["lazy", "sparse", "norm", "script"])
def test_odd_modules_are_shown(model):
    view = ftlab.model(model)
    assert view._repr_html_()
    made = view.widget()
    for each in view.anatomy.modules:
        made._hear(None, {"name": "1", "path": each.path}, [])
        assert json.dumps(made.answer)


def test_stars_leave_users_variables_alone():
    assert "model" not in ftlab.__all__
    assert "model" in dir(ftlab)


def test_what_has_no_values_is_said_and_opens():
    with torch.device("meta"):
        model = llama()
    assert "on the meta device: there are shapes, and no values" in repr(
        ftlab.model(model)
    )
