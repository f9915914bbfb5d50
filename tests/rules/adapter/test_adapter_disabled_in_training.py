"""ADP003."""

import torch

from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, base, batches, llama, lora
from ftlab.faults.fault import Case
from ftlab.rules.adapter.adapter_disabled_in_training import AdapterDisabledInTraining
from ftlab.session.score import record
from tests.runs import RunBuilder, only, report_by

SWITCH = 2


def report(run):
    return report_by(AdapterDisabledInTraining(), run)


def at_step(model, act, optimizer=None):
    """Train a model, and do something before one of its steps."""
    optimizer = optimizer or adamw(model)
    train = plain_step(model, optimizer)

    def step(batch):
        if len(case.losses) == SWITCH:
            act(batch)
        return train(batch)

    case = Case(model, optimizer, batches(), step)
    return case


def with_head(**settings):
    model = lora(**settings)
    model.get_base_model().lm_head.weight.requires_grad_(True)
    return model


def ops(*states, graph=True):
    entries = [("forward", "model", {"grad_enabled": graph, **s}) for s in states]
    return [*entries, ("backward", "loss", states[-1])]


def test_says_nothing_of_a_model_without_adapters():
    assert report(RunBuilder().step().run).not_checked == ()


def test_disable_adapter_layers_is_named_with_every_layer():
    model = with_head()
    case = at_step(model, lambda _: model.base_model.disable_adapter_layers())
    finding = only(report(record(case, 5)).findings, "error", steps=(SWITCH, 4))
    places = [str(place) for place in finding.places]
    names = [n for n, m in model.named_modules() if hasattr(m, "lora_A")]
    assert places[: len(names)] == [f"module {name}" for name in names]
    assert "call disable_adapter_layers" in places
    assert "config disable_adapters" in places


def test_a_context_that_ends_is_no_fault():
    model = with_head()

    def look(batch):
        with torch.no_grad(), model.disable_adapter():
            model(**batch)

    assert report(record(at_step(model, look), 5)).findings == ()


def test_a_flag_that_is_set_by_hand_is_seen_too():
    model = with_head()

    def flip(_):
        for module in model.modules():
            if hasattr(module, "lora_A"):
                module._disable_adapters = True

    (finding,) = report(record(at_step(model, flip), 5)).findings
    assert "was not seen" in finding.cause


def test_some_of_the_layers_are_a_warning():
    model = with_head()
    layer = model.get_base_model().model.layers[0].self_attn.q_proj
    case = at_step(model, lambda _: layer.enable_adapters(False))
    finding = only(report(record(case, 5)).findings, "warning")
    assert "1 of 4 adapter layers" in finding.message


def test_ia3_is_seen_like_lora():
    from peft import IA3Config, get_peft_model

    config = IA3Config(target_modules=["k_proj"], feedforward_modules=[])
    model = get_peft_model(base(), config)
    model.get_base_model().lm_head.weight.requires_grad_(True)
    case = at_step(model, lambda _: model.base_model.disable_adapter_layers())
    assert len(report(record(case, 5)).findings) == 1


def test_transformers_own_adapters_are_seen():
    from peft import LoraConfig

    model = llama()
    model.add_adapter(LoraConfig(r=2, target_modules=["q_proj"]))
    model.lm_head.weight.requires_grad_(True)
    case = at_step(model, lambda _: model.disable_adapters())
    (finding,) = report(record(case, 5)).findings
    assert "call disable_adapters" in map(str, finding.places)


def test_an_adapter_that_is_off_in_one_of_two_forwards_is_a_reference():
    builder = RunBuilder()
    builder.lora("layers.0")
    off, on = builder.state(disabled=2, disabled_layers="a,b"), builder.state()
    builder.step(ops=ops(off, on)).step(ops=ops(on, off))
    assert report(builder.run).findings == ()


def test_an_adapter_that_nobody_trains_may_be_off():
    builder = RunBuilder()
    builder.tensor("head.weight")
    builder.step(ops=ops(builder.state(disabled=2, disabled_layers="a,b")))
    assert report(builder.run).findings == ()
