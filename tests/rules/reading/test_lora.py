"""Whether a run has LoRA: known, known not to, and unknown."""

import pytest

from ftlab.rules.reading.lora import may_hold_lora
from tests.runs import RunBuilder


def with_facts(**model):
    return RunBuilder().facts(model=model)


@pytest.mark.parametrize("kind", ["IA3", "ADALORA", "PeftType.PROMPT_TUNING"])
def test_other_adapters_are_none(kind):
    assert not may_hold_lora(with_facts(peft={"default": {"peft_type": kind}}).run)


@pytest.mark.parametrize("kind", ["LORA", "PeftType.LORA"])
def test_lora_is_known_by_its_configuration(kind):
    configs = {"first": {"peft_type": "IA3"}, "second": {"peft_type": kind}}
    assert may_hold_lora(with_facts(peft=configs).run)


def test_full_fine_tuning_has_none():
    assert not may_hold_lora(with_facts(peft={}).run)


def test_what_is_not_known_may_be():
    assert may_hold_lora(RunBuilder().run)
    assert may_hold_lora(with_facts(parameters=3).run)


def test_pairs_that_were_named_count_without_a_configuration():
    builder = with_facts(peft={})
    builder.lora("layers.0")
    assert may_hold_lora(builder.run)
