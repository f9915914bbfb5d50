"""How many rows wake an activated LoRA."""

import pytest
import torch

from ftlab.faults.builders.tiny import adamw, batches, llama, lora
from ftlab.probes.tokens.invocations import Invocations, invocation_facts
from tests.models import update
from tests.probes.recording import Recording
from tests.versions import older_than

pytestmark = pytest.mark.skipif(
    older_than("peft", "0.18"), reason="this PEFT has no activated LoRA"
)

TOKENS = [11, 12]


def rows(model, made):
    optimizer = adamw(model)
    with Recording(model, optimizer, probes=[Invocations()]) as recording:
        for batch in made:
            update(model(**batch).loss, optimizer)
    return [counts(each.values) for each in recording.steps]


def counts(values):
    return {name: each for name, each in values.items() if name.startswith("alora")}


def made_of(*rows_of_tokens):
    (batch,) = batches(1, size=len(rows_of_tokens))
    for row, tokens in enumerate(rows_of_tokens):
        for column, token in enumerate(tokens, start=5):
            batch["input_ids"][row, column] = token
    return [batch]


def test_rows_with_the_tokens_in_their_order_are_counted():
    model = lora(llama(), alora_invocation_tokens=TOKENS)
    made = made_of(TOKENS, TOKENS[::-1], [11, 13, 12], [9, *TOKENS])
    assert rows(model, made) == [{"alora_rows": 4.0, "alora_invoked": 2.0}]


def test_it_counts_what_peft_counts():
    from peft.tuners.lora.variants import calculate_alora_offsets

    model = lora(llama(), alora_invocation_tokens=TOKENS)
    made = made_of(TOKENS, [1], [*TOKENS, 3, *TOKENS], [12, 11, 12])
    offsets = calculate_alora_offsets(
        model.peft_config, model.active_adapter, made[0]["input_ids"]
    )
    known = sum(offset is not None for offset in offsets)
    assert rows(model, made)[0]["alora_invoked"] == known == 3


def test_micro_batches_are_added_up():
    model = lora(llama(), alora_invocation_tokens=TOKENS)
    optimizer = adamw(model)
    with Recording(model, optimizer, probes=[Invocations()]) as recording:
        for batch in made_of(TOKENS) * 3:
            model(**batch).loss.backward()
        optimizer.step()
    assert counts(recording.steps[0].values) == {
        "alora_rows": 3.0,
        "alora_invoked": 3.0,
    }


def test_rows_shorter_than_the_invocation_hold_none():
    model = lora(llama(), alora_invocation_tokens=list(range(20)))
    assert rows(model, made_of(TOKENS))[0]["alora_invoked"] == 0


def test_other_adapters_are_not_counted():
    assert rows(lora(llama()), made_of(TOKENS)) == [{}]


@pytest.mark.parametrize(("task", "caller"), [("CAUSAL_LM", ""), (None, "PeftModel")])
def test_the_class_that_looks_for_the_tokens(task, caller):
    model = lora(llama(), alora_invocation_tokens=TOKENS, task_type=task)
    facts = invocation_facts(model.peft_config["default"], model)
    assert facts == {"tokens": TOKENS, "caller": caller}


def test_an_adapter_that_waits_for_nothing_has_no_facts():
    model = lora(llama())
    assert invocation_facts(model.peft_config["default"], torch.nn.Module()) == {}
