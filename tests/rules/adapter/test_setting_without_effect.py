"""ADP040."""

import pytest
from peft import EvaConfig

from ftlab.faults.builders.tiny import llama, lora
from ftlab.rules.adapter.setting_without_effect import SettingWithoutEffect
from tests.runs import only, places
from tests.wired import findings


def check(**settings):
    return findings(SettingWithoutEffect(), lora(llama(), **settings))


def test_is_quiet_where_nothing_is_idle():
    assert check(use_rslora=True, lora_alpha=4) == ()


def test_a_start_that_nothing_asks_for_is_a_warning():
    finding = only(check(eva_config=EvaConfig()), "warning")
    assert places(finding) == ["config eva_config"]
    assert "init_lora_weights='eva'" in finding.fix


@pytest.mark.parametrize(
    ("settings", "reason"), [({"bias": "all"}, "no-bias"), ({"r": 65}, "above-size")]
)
def test_what_costs_nothing_is_noted(settings, reason):
    only(check(**settings), "info", reason=reason)


def test_each_setting_is_a_finding():
    assert len(check(use_qalora=True, bias="all")) == 2
