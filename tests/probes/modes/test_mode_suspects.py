"""What in a model may be a teacher."""

import pytest
import torch
from torch import nn

from ftlab.faults.builders.tiny import gpt2, lora, trainable
from ftlab.probes.inventory import hookable_modules
from ftlab.probes.modes.mode_suspects import teacher_beside, teachers_in
from ftlab.probes.subject import Subject


def net(learns=True):
    return nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.1)).requires_grad_(learns)


def found(model, optimizers=()):
    return teachers_in(Subject(model, optimizers), dict(hookable_modules(model)))


def test_the_largest_frozen_part_beside_what_learns_may_be_one():
    model = nn.ModuleDict({"a": nn.Sequential(net(False)), "b": net()})
    (teacher,) = found(model)
    assert (teacher.path, teacher.kind, teacher.learners) == ("a", "part", ("b",))
    assert (teacher.p, teacher.dropouts_on()) == (0.1, 1)
    model["a"].eval()
    assert teacher.dropouts_on() == 0


@pytest.mark.parametrize("learns", [True, False])
def test_where_all_or_nothing_learns_there_is_none(learns):
    assert found(nn.ModuleDict({"a": net(learns), "b": net(learns)})) == []


def test_the_model_without_its_adapter_is_its_own_reference():
    model = lora(gpt2(resid_pdrop=0.1), lora_dropout=0.2)
    (teacher,) = found(model, [torch.optim.SGD(trainable(model))])
    assert (teacher.kind, teacher.p) == ("own", 0.1)
    assert teacher.dropouts_on() == 0
    with model.disable_adapter():
        assert teacher.dropouts_on() == len(teacher.parts) == 4
    model.add_adapter("reference", model.peft_config["default"])
    model.set_adapter("reference")
    assert teacher.dropouts_on() == 4


def test_another_model_answers_beside_the_whole():
    teacher = teacher_beside(net())
    assert (teacher.path, teacher.learners) == ("another Sequential", ("",))
