"""What an evaluation leaves frozen."""

import pytest
import torch

from ftlab.faults.builders.tiny import adamw, batches, lora
from ftlab.probes.frozen.freezing_evaluations import FreezingEvaluations
from ftlab.probes.recorder import Recorder
from ftlab.probes.subject import Subject
from ftlab.records.names import NameRecord
from ftlab.records.step import Block

ON = torch.nn.Module.requires_grad_


def unthawed(between, behind=lambda _: None):
    """Name what is told after a look at the model, and the step at which it is."""
    model, (batch, *_) = lora(), batches()
    optimizer, records = adamw(model), []
    with Recorder(Subject(model, [optimizer]), [FreezingEvaluations()], records.append):
        for step in range(3):
            if step == 1:
                between(model)
                with torch.no_grad():
                    model(**batch)
                behind(model)
            optimizer.zero_grad()
            model(**batch).loss.backward()
            optimizer.step()
    names = {n.id: n.name for n in records if isinstance(n, NameRecord)}
    blocks = [e for e in records if isinstance(e, Block) and e.table == "unthawed"]
    return [(e.step, names[row]) for e in blocks for row in e.ids.tolist()]


def freeze(model):
    model.requires_grad_(False)


def thaw(*parts, but=()):
    def behind(model):
        for name, weight in model.named_parameters():
            if any(p in name for p in parts) and not any(p in name for p in but):
                weight.requires_grad_(True)

    return behind


def test_what_was_frozen_for_an_evaluation_and_is_not_thawed_is_named():
    found = unthawed(freeze, thaw("lora_", but=["v_proj"]))
    assert [step for step, _ in found] == [1] * 4
    assert all("v_proj.lora_" in name for _, name in found)


@pytest.mark.parametrize(
    ("between", "behind"),
    [
        (freeze, thaw("lora_")),
        (freeze, thaw("lora_", "lm_head", but=["v_proj"])),
        (lambda _: None, thaw("lm_head")),
        (lambda model: model.base_model.disable_adapter_layers(), ON),
    ],
    ids=["all thawed", "another turn", "nothing frozen", "by PEFT"],
)
def test_what_is_put_back_or_has_its_turn_is_not(between, behind):
    assert unthawed(between, behind) == []


def test_what_is_frozen_after_the_evaluation_is_not():
    def some(model):
        for name, weight in model.named_parameters():
            weight.requires_grad_("q_proj.lora_" in name)

    assert unthawed(lambda _: None, some) == []


def test_an_adapter_that_is_off_and_comes_back_in_part_is_peft_s():
    def back(model):
        model.base_model.enable_adapter_layers()
        for name, weight in model.named_parameters():
            weight.requires_grad_("q_proj.lora_" in name)

    off = lambda model: model.base_model.disable_adapter_layers()  # noqa: E731
    assert unthawed(off, back) == []
