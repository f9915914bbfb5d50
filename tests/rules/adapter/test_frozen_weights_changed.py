"""ADP007."""

import numpy as np
import pytest
import torch

from ftlab.faults.adapter.freezing import first_adapter_on_momentum
from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, base, batches, lora
from ftlab.faults.fault import Case
from ftlab.records.finding import Severity
from ftlab.rules.adapter.frozen_weights_changed import DRIFT, FrozenWeightsChanged
from ftlab.session.score import record
from tests.runs import RunBuilder, only, report_by

AT = 6


def report(run):
    return report_by(FrozenWeightsChanged(), run)


def acting(model, act, steps=10):
    optimizer = adamw(model)
    train = plain_step(model, optimizer)

    def step(batch):
        if len(case.losses) == AT:
            act()
        return train(batch)

    case = Case(model, optimizer, batches(), step)
    return report(record(case, steps))


def one_base(model):
    return next(p for n, p in model.named_parameters() if "base_layer" in n)


def in_data(weight):
    weight.data.mul_(1.01)


def without_gradient(weight):
    with torch.no_grad():
        weight.add_(1e-3)


def as_new_data(weight):
    weight.data = weight.data * 1.01


@pytest.mark.parametrize("emptied", [True, False])
def test_an_adapter_that_is_merged_by_hand_and_begun_anew_is_fine(emptied):
    model = lora()

    def relora():
        with torch.no_grad():
            for module in model.modules():
                if hasattr(module, "lora_A"):
                    (name,) = module.active_adapters
                    module.base_layer.weight += module.get_delta_weight(name)
                    if emptied:
                        module.lora_B[name].weight.zero_()

    assert bool(acting(model, relora, steps=20).findings) is not emptied


@pytest.mark.parametrize("write", [in_data, without_gradient, as_new_data])
def test_a_base_weight_that_is_written_to_is_named_at_its_step(write):
    model = lora()
    finding = only(acting(model, lambda: write(one_base(model))).findings, "warning")
    assert finding.first_step == AT
    assert finding.evidence["reason"] == "written"
    (place,) = finding.places
    assert place.name.endswith("q_proj.base_layer.weight")


def test_a_teacher_in_a_model_without_adapters_is_only_noted():
    model = base()
    teacher = model.model.layers[0].mlp.up_proj.weight.requires_grad_(False)
    only(acting(model, lambda: in_data(teacher)).findings, "info")


def test_a_weight_that_is_unfrozen_and_frozen_again_is_compared_anew():
    model = base()
    weight = model.model.layers[0].mlp.up_proj.weight.requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    train = plain_step(model, optimizer)

    def step(batch):
        weight.requires_grad_(3 <= len(case.losses) < AT)
        if len(case.losses) == AT:
            weight.grad = None
        return train(batch)

    case = Case(model, optimizer, batches(), step)
    assert report(record(case, 12)).findings == ()


@pytest.mark.parametrize("early", [False, True])
def test_what_is_unloaded_into_is_not_compared(early):
    model = lora()
    optimizer = adamw(model, lr=1e-2)
    bound = model.merge_and_unload
    act = bound if early else lambda: model.merge_and_unload()
    step = plain_step(model, optimizer)
    case = Case(model, optimizer, batches(), step, afterwards=act)
    assert report(record(case, 5)).findings == ()


def test_a_frozen_adapter_beside_the_trained_one_may_change():
    model = lora()
    model.add_adapter("second", model.peft_config["default"])
    other = next(p for n, p in model.named_parameters() if "lora_A.second" in n)
    assert acting(model, lambda: in_data(other)).findings == ()


def counts(*trainable):
    builder = RunBuilder()
    for step, count in enumerate(trainable):
        builder.facts(step=step, model={"parameters": 10, "trainable": count}).step()
    return builder.run


def test_is_left_out_where_nothing_was_ever_frozen():
    assert report(counts(10, 10)).not_checked == ()
    assert report(counts(10, 4, 10)).not_checked != ()
    assert report(RunBuilder().facts(model={"class": "One"}).run).not_checked != ()


def test_a_frozen_adapter_may_be_filled_and_not_be_stepped():
    model = lora()
    model.add_adapter("second", model.peft_config["default"])
    first = [p for n, p in model.named_parameters() if ".default." in n]
    model.set_adapter("second")
    found = acting(model, lambda: [p.data.add_(0.1) for p in first])
    assert found.findings == ()


def test_an_optimizer_that_moves_a_frozen_adapter_is_found():
    (finding,) = report(record(first_adapter_on_momentum.build(False), 10)).findings
    assert finding.evidence["reason"] == "optimizer"
    assert all(".default." in place.name for place in finding.places[:-1])


def cycling(dtype, cycles, steps=10):
    """Merge and unmerge after each of the first steps."""
    model = lora(base().to(dtype))
    optimizer = adamw(model, lr=1e-2)
    train = plain_step(model, optimizer)

    def step(batch):
        loss = train(batch)
        if len(case.losses) < cycles:
            model.merge_adapter()
            model.unmerge_adapter()
        return loss

    case = Case(model, optimizer, batches(), step)
    return model, record(case, steps)


def test_is_quiet_on_cycles_in_float32():
    _, run = cycling(torch.float32, 10)
    assert "frozen" in run.tables()
    assert report(run).findings == ()


@pytest.mark.parametrize(
    ("cycles", "severity"), [(1, Severity.INFO), (2, Severity.WARNING)]
)
def test_one_cycle_in_bf16_is_noted_and_two_are_a_warning(cycles, severity):
    _, run = cycling(torch.bfloat16, cycles)
    finding = only(report(run).findings, severity.label, cycles=cycles)
    assert finding.evidence["change"] > DRIFT


def test_every_base_weight_is_named_and_the_change_is_the_true_one():
    twin = lora(base().bfloat16())
    before = {name: weight.detach() for name, weight in twin.named_parameters()}
    model, run = cycling(torch.bfloat16, 10)
    (finding,) = report(run).findings
    bases = {n: p for n, p in model.named_parameters() if "base_layer" in n}
    assert {p.name for p in finding.places if p.kind == "param"} == set(bases)
    true = max(
        float((weight - before[name]).abs().max() / before[name].abs().float().mean())
        for name, weight in bases.items()
    )
    # The sample holds every sixteenth element, and its mean is its own.
    assert finding.evidence["change"] == pytest.approx(true, rel=0.7)
    assert np.isfinite(finding.evidence["change"])
