"""ADP019."""

import pytest
import torch

from ftlab.faults.builders.tiny import llama, lora
from ftlab.records.finding import Severity
from ftlab.rules.adapter.adapter_in_other_precision import AdapterInOtherPrecision
from ftlab.rules.engine import Engine
from tests.rules.reasons.test_lost_updates import built
from tests.runs import only
from tests.wired import findings


def check(model):
    return findings(AdapterInOtherPrecision(), model)


def cast(model, dtype):
    for name, parameter in model.named_parameters():
        if "lora_" in name:
            parameter.data = parameter.data.to(dtype)
    return model


@pytest.mark.parametrize("base", [torch.float32, torch.bfloat16, torch.float16])
def test_new_adapters_are_quiet(base):
    assert check(lora(llama().to(base))) == ()


def test_float64_is_a_warning_at_the_parameters():
    finding = only(check(cast(lora(), torch.float64)), "warning", tensors=8)
    assert finding.place.name.endswith("lora_A.default.weight")


def test_a_model_in_float64_is_meant_so():
    assert check(lora().double()) == ()


def test_float16_is_only_noted_and_bfloat16_is_measured_elsewhere():
    assert [f.severity for f in check(cast(lora(), torch.float16))] == [Severity.INFO]
    assert check(cast(lora(), torch.bfloat16)) == ()


def test_frozen_adapters_are_left_alone():
    assert check(cast(lora(), torch.float64).requires_grad_(False)) == ()


def test_a_cast_adapter_that_loses_its_updates_is_an_error():
    builder = built(0.95)
    adapters = {"adapters": {"default": {"parts": {}}}}
    builder.facts(
        model={"adapters": adapters, "dtypes": {"bfloat16": 8}},
        optimizers=builder.run.facts.optimizers,
    )
    (finding,) = Engine([AdapterInOtherPrecision()]).check(builder.run).findings
    assert finding.severity is Severity.ERROR
    assert finding.evidence["reason"] == "rounded-away"
    assert str(finding.place) == "param m.a"
    assert (finding.first_step, finding.last_step) == (0, 1)


def test_float16_under_an_adam_whose_eps_is_0_in_it_is_an_error():
    adam = {"class": "AdamW", "module": "torch.optim.adamw", "groups": [{"eps": 1e-8}]}
    model = cast(lora(), torch.float16)
    (finding,) = findings(AdapterInOtherPrecision(), model, optimizers=(adam,))
    assert finding.severity is Severity.ERROR
    assert finding.evidence["reason"] == "float16-eps"
    assert "lora_A" in finding.place.name
