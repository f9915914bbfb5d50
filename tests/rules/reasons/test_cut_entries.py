"""What is said of entries that reach less, or more, than what they name."""

from collections import OrderedDict

import pytest
import torch
from peft import LoraConfig, get_peft_model

from ftlab.faults.builders.tiny import llama, lora
from ftlab.records.finding import Severity
from ftlab.rules.adapter.target_without_match import TargetWithoutMatch
from tests.runs import only, places
from tests.wired import findings


def check(**settings):
    size = {"num_hidden_layers": settings.pop("blocks", 2)}
    return findings(TargetWithoutMatch(), lora(llama(**size), **settings))


@pytest.mark.parametrize(
    ("settings", "reason", "severity"),
    [
        ({"target_modules": r".*q_proj|v_proj"}, "part-of-names", Severity.WARNING),
        (
            {"target_modules": "all-linear", "exclude_modules": "mlp"},
            "part-of-names",
            Severity.WARNING,
        ),
        (
            {"target_modules": "all-linear", "exclude_modules": ["v_porj"]},
            "misspelled",
            Severity.WARNING,
        ),
        (
            {"target_modules": r".*layers\.\d\..*q_proj", "blocks": 16},
            "one-digit",
            Severity.INFO,
        ),
        (
            {"target_modules": r".*layers\.[0-9]\..*q_proj", "blocks": 12},
            "one-digit",
            Severity.WARNING,
        ),
        (
            {"target_modules": r".*layers\.1.*q_proj", "blocks": 12},
            "longer-number",
            Severity.WARNING,
        ),
        (
            {"rank_pattern": {"layers.1.*": 2}, "blocks": 12},
            "longer-number",
            Severity.WARNING,
        ),
        ({"modules_to_save": ["norm"]}, "name-of-more", Severity.INFO),
    ],
)
def test_each_reason_stands_at_its_setting(settings, reason, severity):
    finding = only(check(**settings), severity.label, reason=reason)
    field = [name for name in settings if name != "blocks"][-1]
    assert places(finding)[0] == f"config {field}"
    assert len(places(finding)) > 1


@pytest.mark.parametrize(
    "excluded", [["lm_head"], ["visual"], ["qkv_proj"], ["q_proj"]]
)
def test_exclusions_that_work_or_are_for_another_model_are_quiet(excluded):
    assert check(target_modules="all-linear", exclude_modules=excluded) == ()


def test_an_exclusion_that_works_may_be_spelled_like_another_layer():
    layers = {name: torch.nn.Linear(4, 4) for name in ("layer_a", "layer_b")}
    model = torch.nn.Sequential(OrderedDict(layers))
    config = LoraConfig(target_modules=[*layers], exclude_modules=["layer_a"])
    assert findings(TargetWithoutMatch(), get_peft_model(model, config)) == ()
