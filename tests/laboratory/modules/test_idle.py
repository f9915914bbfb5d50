"""A model in which nothing learns fails in a real Trainer, and its fix mends it."""

import os
import warnings
from unittest import mock

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from peft.mapping import PEFT_TYPE_TO_CONFIG_MAPPING
from peft.tuners.tuners_utils import BaseTunerLayer
from torch import nn

import ftlab
from ftlab.faults.builders.tiny import llama, lora, lora_config
from tests.laboratory.modules.test_as_trainer import a_trainer, states
from tests.laboratory.modules.wrapped import Named, added, injected
from tests.laboratory.test_methods import METHODS, PROJECTIONS, SETTINGS
from tests.laboratory.test_xlora import xlora


def frozen():
    return llama().requires_grad_(False)


def merged(model=None):
    model = lora() if model is None else model
    model.merge_adapter()
    return model


def disabled():
    model = lora()
    model.base_model.disable_adapter_layers()
    return model


def disabled_and_learning():
    model = disabled()
    for name, parameter in model.named_parameters():
        parameter.requires_grad_("lora_" in name)
    return model


def switched_off():
    model = added()
    model.disable_adapters()
    return model


def none_active():
    model = lora()
    model.base_model.set_adapter([])
    return model


def one_inactive_learns():
    model = lora()
    model.add_adapter("two", lora_config(llama()))
    model.set_adapter("two")
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(".default." in name)
    return model


def for_inference(folder):
    lora().save_pretrained(folder)
    return PeftModel.from_pretrained(llama(), folder)


def on_layers(model, call):
    for module in model.modules():
        if isinstance(module, BaseTunerLayer):
            call(module)
    return model


def an_idle_prompt():
    config = PEFT_TYPE_TO_CONFIG_MAPPING["PROMPT_TUNING"]
    made = config(task_type="CAUSAL_LM", num_virtual_tokens=4)
    return get_peft_model(llama(), made).requires_grad_(False)


def learn(model):
    model.requires_grad_(True)


IDLE = {
    "frozen": (frozen, "requires_grad_(True)", learn),
    "frozen in a wrapper": (lambda: Named(frozen()), "requires_grad_(True)", learn),
    "merged": (merged, "unmerge_adapter()", lambda m: m.unmerge_adapter()),
    "merged in a wrapper": (
        lambda: Named(merged()),
        "unmerge_adapter()",
        lambda m: m.backbone.unmerge_adapter(),
    ),
    "disabled": (
        disabled,
        "enable_adapter_layers()",
        lambda m: m.enable_adapter_layers(),
    ),
    "disabled, requires grad": (
        disabled_and_learning,
        "enable_adapter_layers()",
        lambda m: m.enable_adapter_layers(),
    ),
    "switched off": (
        switched_off,
        "enable_adapters()",
        lambda m: m.enable_adapters(),
    ),
    "none active": (
        none_active,
        'set_adapter("default")',
        lambda m: m.set_adapter("default"),
    ),
    "another one learns": (
        one_inactive_learns,
        'set_adapter("default")',
        lambda m: m.set_adapter("default"),
    ),
    "a frozen prompt": (
        an_idle_prompt,
        "requires_grad_(True)",
        lambda m: m.prompt_encoder.requires_grad_(True),
    ),
    "injected, disabled": (
        lambda: on_layers(injected(), lambda each: each.enable_adapters(False)),
        "enable_adapters(True) on each layer",
        lambda m: on_layers(m, lambda each: each.enable_adapters(True)),
    ),
    "injected, merged": (
        lambda: on_layers(injected(), lambda each: each.merge()),
        "unmerge() on each layer",
        lambda m: on_layers(m, lambda each: each.unmerge()),
    ),
    "added, merged": (
        lambda: on_layers(added(), lambda each: each.merge()),
        "unmerge() on each layer",
        lambda m: on_layers(m, lambda each: each.unmerge()),
    ),
}


def train(model, folder, **settings):
    """Return what is raised, and how many parameters change."""
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    # lora_A stays as it is in the first step: lora_B is 0
    trainer = a_trainer(model, folder, save_strategy="no", **settings)
    try:
        trainer.train()
        said = ""
    except RuntimeError as error:
        said = str(error)
    changed = (not torch.equal(p, before[n]) for n, p in model.named_parameters())
    return said, sum(changed)


def failing(view):
    found = [e for e in view.anatomy.seen if e.what == "training"]
    return [each for each in found if each.state == "fails"]


@pytest.mark.parametrize("name", IDLE)
def test_nothing_learns_and_the_fix_mends_it(name, tmp_path):
    make, fix, mend = IDLE[name]
    model = make()
    view = ftlab.model(model)
    (said,) = failing(view)
    assert view.anatomy.sizes["AdamW's two moments"] == 0
    assert fix in said.fix
    assert "RuntimeError" in said.means
    raised, changed = train(model, tmp_path)
    assert "does not require grad" in raised
    assert not changed
    mend(model)
    assert not failing(ftlab.model(model))
    raised, changed = train(model, tmp_path)
    assert not raised
    assert changed


def test_an_adapter_loaded_for_inference_does_not_learn(tmp_path):
    model = for_inference(tmp_path / "adapter")
    (said,) = failing(ftlab.model(model))
    assert "is_trainable=True" in said.fix
    assert train(model, tmp_path) != ("", 0)
    model.set_adapter("default")
    assert not failing(ftlab.model(model))
    mended = PeftModel.from_pretrained(llama(), tmp_path / "adapter", is_trainable=True)
    assert not failing(ftlab.model(mended))


@pytest.mark.parametrize("make", [frozen, merged])
def test_with_inputs_that_require_grad_no_error_is_raised(make, tmp_path):
    model = make()
    model.enable_input_require_grads()
    (said,) = failing(ftlab.model(model))
    assert "no error" in said.means
    assert train(model, tmp_path) == ("", 0)
    again = make()
    settings = {"save_strategy": "no", "gradient_checkpointing": True}
    (said,) = failing(ftlab.model(a_trainer(again, tmp_path, **settings)))
    assert "no error" in said.means
    assert train(again, tmp_path, gradient_checkpointing=True) == ("", 0)


def saved_whole():
    base = llama()
    return get_peft_model(base, LoraConfig(**PROJECTIONS, modules_to_save=["lm_head"]))


def with_a_head():
    model = disabled()
    model.base_model.model.lm_head.requires_grad_(True)
    return model


@pytest.mark.parametrize("make", [lambda: merged(saved_whole()), with_a_head])
def test_what_learns_beside_adapters_that_do_not_is_enough(make, tmp_path):
    model = make()
    view = ftlab.model(model)
    assert not failing(view)
    held = model.base_model.model.lm_head
    head = getattr(held, "modules_to_save", {"default": held})["default"].weight
    assert view.anatomy.sizes["AdamW's two moments"] == 2 * head.nbytes
    assert train(model, tmp_path) == ("", 1)


def test_is_quiet_on_xlora(tmp_path):
    assert not failing(ftlab.model(xlora(tmp_path)))


@pytest.mark.parametrize("method", METHODS)
def test_is_quiet_on_every_method(method):
    config = PEFT_TYPE_TO_CONFIG_MAPPING[method]
    settings = SETTINGS.get(method, PROJECTIONS)
    if method == "ADAMSS":
        pytest.importorskip("sklearn")
    # BOFT names a compiler in the environment
    with warnings.catch_warnings(), mock.patch.dict(os.environ):
        warnings.simplefilter("ignore")
        model = get_peft_model(llama(), config(task_type="CAUSAL_LM", **settings))
    view = ftlab.model(model)
    assert not failing(view)
    learns = sum(p.nbytes for p in model.parameters() if p.requires_grad)
    assert view.anatomy.sizes["gradients"] == learns


def test_a_model_without_parameters_is_frozen():
    assert "training" in states(ftlab.model(nn.Identity()))
    assert failing(ftlab.model(nn.Identity()))
