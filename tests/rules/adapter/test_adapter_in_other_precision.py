"""ADP019."""

import pytest
import torch

from ftlab.faults.tiny import llama, lora
from ftlab.records.finding import Severity
from ftlab.rules.adapter.adapter_in_other_precision import AdapterInOtherPrecision
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
    (finding,) = check(cast(lora(), torch.float64))
    assert finding.severity is Severity.WARNING
    assert finding.evidence["tensors"] == 8
    assert finding.place.name.endswith("lora_A.default.weight")


def test_a_model_in_float64_is_meant_so():
    assert check(lora().double()) == ()


def test_float16_is_only_noted_and_bfloat16_is_measured_elsewhere():
    assert [f.severity for f in check(cast(lora(), torch.float16))] == [Severity.INFO]
    assert check(cast(lora(), torch.bfloat16)) == ()


def test_frozen_adapters_are_left_alone():
    assert check(cast(lora(), torch.float64).requires_grad_(False)) == ()
