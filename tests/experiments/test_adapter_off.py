"""The adapter off, and the base; or a fresh adapter on and off."""

import pytest
import torch

from tests.experiments.set_ups import gpt2, llama, lora, named, padded, tried

Q = "model.layers.0.self_attn.q_proj"


@pytest.fixture
def stored(tmp_path):
    """Return a function that builds an adapter on a base that was loaded from files."""

    def build(kind=llama, **settings):
        base = kind()
        base.save_pretrained(tmp_path)
        again = type(base).from_pretrained(tmp_path)
        return lora(again, **({"init_lora_weights": False} | settings))

    return build


def outcome_of(model):
    return tried("adapter-off", model, padded(left=False))


def changed(parameter):
    with torch.no_grad():
        parameter.add_(torch.randn_like(parameter))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"use_dora": True},
        {"modules_to_save": ["lm_head"]},
        {"lora_dropout": 0.5},
        {"kind": gpt2, "target_modules": ["c_attn"], "fan_in_fan_out": True},
    ],
    ids=["lora", "dora", "head", "dropout", "gpt2"],
)
def test_without_its_adapter_a_model_is_the_base_on_disk(stored, settings):
    outcome = outcome_of(stored(**settings).train())
    assert outcome.state == "holds", outcome.says


@pytest.mark.parametrize("settings", [{}, {"use_rslora": True}, {"use_dora": True}])
def test_a_fresh_adapter_changes_nothing(settings):
    outcome = outcome_of(lora(**settings))
    assert outcome.state == "holds", outcome.says


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (llama, "LlamaForCausalLM is no PeftModel"),
        (
            lambda: lora(init_lora_weights=False),
            "the adapter is trained, and the folder of its base is not here",
        ),
    ],
)
def test_it_does_not_apply_without_an_adapter_or_its_base(make, says):
    outcome = outcome_of(make())
    assert (outcome.state, outcome.says) == ("does not apply", says)


def base_is_edited(model):
    changed(model.get_base_model().model.layers[1].mlp.up_proj.weight)
    return "model.layers.1.mlp.up_proj"


def base_is_rounded(model):
    weight = model.get_base_model().model.layers[0].mlp.gate_proj.weight
    weight.data = (weight.data * 64).round() / 64
    return "model.layers.0.mlp.gate_proj"


def adapter_is_merged(model):
    model.get_base_model().model.layers[0].self_attn.q_proj.merge()
    layer = model.get_base_model().model.layers[0].self_attn.q_proj
    layer.merged_adapters.clear()  # so nothing undoes it
    return Q


def hook_is_left(model):
    layer = model.get_base_model().model.layers[0].mlp
    layer.register_forward_hook(lambda _module, _args, out: out * 1.01)
    return "model.layers.0.mlp"


def head_is_trained_beside(model):
    changed(model.get_base_model().lm_head.weight)
    return "lm_head"


@pytest.mark.parametrize(
    "plant",
    [
        base_is_edited,
        base_is_rounded,
        adapter_is_merged,
        hook_is_left,
        head_is_trained_beside,
    ],
)
def test_a_base_that_is_another_is_named(stored, plant):
    model = stored()
    place = plant(model)
    outcome = outcome_of(model)
    assert named(outcome) == [place]
    assert outcome.says.startswith("the base on disk and the adapter off part at ")


def test_a_base_of_another_revision_is_named(stored, tmp_path):
    model = stored()
    other = llama()
    changed(other.model.embed_tokens.weight)
    other.save_pretrained(tmp_path)
    assert named(outcome_of(model)) == ["model.embed_tokens"]


def magnitude_of_another():
    """A fresh DoRA whose magnitudes are not those of its base."""
    model = lora(use_dora=True)
    layer = model.get_base_model().model.layers[0].self_attn.q_proj
    with torch.no_grad():
        layer.lora_magnitude_vector.default.weight.mul_(1.1)
    return model


def hook_asks_for_the_adapter():
    """A fresh adapter whose layer adds something while the adapter is on."""
    model = lora()

    def more(module, _args, out):
        return out if module.disable_adapters else out + 1

    model.get_base_model().model.layers[0].self_attn.q_proj.register_forward_hook(more)
    return model


@pytest.mark.parametrize("make", [magnitude_of_another, hook_asks_for_the_adapter])
def test_a_fresh_adapter_that_changes_something_is_named(make):
    outcome = outcome_of(make())
    assert named(outcome) == [Q]
    assert outcome.says.startswith("adapter off and adapter on part at ")
