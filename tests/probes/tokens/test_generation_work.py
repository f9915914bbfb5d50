"""What the prompts of generations end with, heard by the watch."""

import pytest
import torch

from ftlab.faults.builders.tiny import adamw, llama, lora
from ftlab.probes.tokens import generation_work
from ftlab.probes.tokens.generation_work import LOOKED_AT, last_tokens
from tests.models import update
from tests.probes.recording import Recording

PAD, EOS = 0, 2
IDS = torch.tensor([[5, 6, 7], [5, 6, PAD], [5, PAD, PAD]])
MASK = (IDS != PAD).long()


def model(**settings):
    return llama(pad_token_id=PAD, eos_token_id=EOS, **settings)


def generations(made, *calls):
    """Train for two steps, with generations behind the first one."""
    optimizer = adamw(made)
    with Recording(made, optimizer) as recording:
        for step in range(2):
            update(made(input_ids=IDS, labels=IDS).loss, optimizer)
            for call in calls if step == 0 else ():
                made.generate(**call, max_new_tokens=1, do_sample=False)
    return [each.detail for each in recording.ledger(0) if each.op == "generate"]


@pytest.mark.parametrize("adapted", [False, True])
def test_padding_behind_prompts_is_counted(adapted):
    made = lora(model()) if adapted else model()
    given = {"input_ids": IDS, "attention_mask": MASK}
    (call,) = generations(made, given)
    expected = {"rows": 3, "width": 3, "end_in_padding": 2, "first": 1}
    assert {name: call[name] for name in expected} == expected


def test_padding_in_front_of_prompts_is_fine():
    given = {"input_ids": IDS.flip(1), "attention_mask": MASK.flip(1)}
    (call,) = generations(model(), given)
    assert "end_in_padding" not in call


def test_calls_of_one_step_are_told_apart_and_few_are_looked_at():
    left = {"input_ids": IDS.flip(1), "attention_mask": MASK.flip(1)}
    right = {"inputs": IDS, "attention_mask": MASK}
    calls = generations(model(), left, right, *[left] * 4)
    assert len(calls) == LOOKED_AT
    assert ["end_in_padding" in each for each in calls] == [False, True, False, False]


def test_another_model_is_not_heard():
    made, other = model(), model()
    optimizer = adamw(made)
    with Recording(made, optimizer) as recording:
        other.generate(input_ids=IDS, attention_mask=MASK, max_new_tokens=1)
        made(input_ids=IDS, labels=IDS).loss.backward()
        optimizer.step()
    assert "generate" not in recording.ops(0)


def test_what_goes_wrong_in_looking_goes_wrong_for_nobody(monkeypatch):
    monkeypatch.setattr(generation_work, "last_tokens", None)
    assert generations(model(), {"input_ids": IDS, "attention_mask": MASK}) == []


def hidden(given, made=None):
    return last_tokens(made or model(), given)[0].tolist()


def ended(given):
    return last_tokens(model(), given)[1].tolist()


def test_without_a_mask_the_padding_is_known_by_its_id():
    assert hidden({"inputs": IDS}) == [False, True, True]
    assert hidden({"inputs": IDS, "pad_token_id": 7}) == [True, False, False]
    assert hidden({"inputs": IDS[1:2]}) == [False]


def test_prompts_that_end_with_an_end_are_told():
    ids = torch.tensor([[5, 6, EOS], [5, EOS, 7], [PAD, PAD, EOS]])
    mask = (ids != PAD).long()
    assert ended({"input_ids": ids, "attention_mask": mask}) == [True, False, False]
    assert ended({"input_ids": ids}) == [True, False, False]
    assert ended({"input_ids": ids, "eos_token_id": [7, 9]}) == [False, True, False]
    (call,) = generations(model(), {"input_ids": ids, "attention_mask": mask})
    assert (call["ended"], call["at"], call["end"]) == (1, 0, EOS)


def test_padding_is_no_end():
    ids = torch.tensor([[5, 6, EOS], [5, EOS, EOS]])
    mask = torch.tensor([[1, 1, 1], [1, 1, 0]])
    given = {"input_ids": ids, "attention_mask": mask, "pad_token_id": EOS}
    assert ended(given) == [True, False]
    assert hidden(given) == [False, True]


def test_padding_that_also_ends_texts_tells_nothing_without_a_mask():
    told = {"inputs": IDS, "eos_token_id": [PAD, EOS]}
    assert last_tokens(model(), told) is None
    assert last_tokens(model(), {"inputs": IDS, "pad_token_id": EOS}) is None


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"inputs": IDS[0]},
        {"inputs": IDS[:0]},
        {"inputs_embeds": torch.zeros(1, 2, 4)},
        {"inputs": IDS, "attention_mask": MASK[:, :2]},
    ],
)
def test_what_cannot_be_told_is_not_told(given):
    assert last_tokens(model(), given) is None


def test_an_encoder_reads_all_columns():
    made = model()
    made.config.is_encoder_decoder = True
    assert last_tokens(made, {"inputs": IDS, "attention_mask": MASK}) is None
