"""Which tokens the positions behind a prompt are taught."""

import pytest
import torch
from peft import PrefixTuningConfig, PromptTuningConfig, get_peft_model

from ftlab.faults.builders.tiny import adamw, base, batches, lora, token_loss
from ftlab.probes.recorder import Recorder
from ftlab.probes.subject import Subject
from ftlab.probes.tokens import prompt_targets
from ftlab.probes.tokens.prompt_targets import PromptTargets
from ftlab.records.errors import FtlabWarning
from ftlab.records.step import StepRecord

TOKENS = 5


def prompted(kind=PromptTuningConfig):
    torch.manual_seed(0)
    return get_peft_model(
        base(), kind(num_virtual_tokens=TOKENS, task_type="CAUSAL_LM")
    )


def shares_by_step(model, loss_of, micro=1, steps=1):
    optimizer, records = adamw(model), []
    with Recorder(Subject(model, [optimizer]), [PromptTargets()], records.append):
        for _ in range(steps):
            for batch in batches()[:micro]:
                loss_of(model, batch).backward()
            optimizer.step()
    rows = [each.values for each in records if isinstance(each, StepRecord)]
    names = ("prompt_targets", "prompt_targets_right", "prompt_targets_early")
    return [[row[name] for name in names if name in row] for row in rows]


def shares(model, loss_of, micro=1):
    (row,) = shares_by_step(model, loss_of, micro)
    return row


def own(part):
    def loss_of(model, batch):
        return token_loss(model(input_ids=batch["input_ids"]).logits[:, part], batch)

    return loss_of


def models_own(model, batch):
    return model(**batch).loss


def test_the_end_of_the_logits_is_taught_what_follows():
    for loss_of in (own(slice(-16, None)), models_own):
        found, right, early = shares(prompted(), loss_of)
        assert (found, right) == (4 * 15, 1.0)
        assert early < 0.2


def test_their_beginning_is_taught_what_comes_a_prompt_later():
    found, right, early = shares(prompted(), own(slice(None, 16)), micro=2)
    assert (found, early) == (2 * 4 * 15, 1.0)
    assert right < 0.2


@pytest.mark.parametrize("make", [lora, lambda: prompted(PrefixTuningConfig)])
def test_nothing_is_told_where_no_position_is_added(make):
    assert shares(make(), models_own) == []


def test_a_loss_without_targets_tells_nothing():
    def spread(model, batch):
        return model(input_ids=batch["input_ids"]).logits.square().mean()

    found = shares(prompted(), spread)
    assert not found or found[1] < 0.2 > found[2]


def test_positions_without_a_target_do_not_count():
    def half(model, batch):
        labels = batch["labels"].clone()
        labels[:, :8] = -100
        return model(**batch | {"labels": labels}).loss

    assert shares(prompted(), half)[:2] == [4 * 8, 1.0]


def test_the_first_of_several_passes_is_looked_at():
    def two(model, batch):
        return models_own(model, batch) + models_own(model, batches()[1])

    assert shares(prompted(), two)[:2] == [4 * 15, 1.0]


def test_only_due_steps_are_looked_at():
    rows = shares_by_step(prompted(), models_own, steps=7)
    assert [bool(row) for row in rows] == [True] * 5 + [False] * 2


def test_what_goes_wrong_is_told_once_and_training_goes_on(monkeypatch):
    monkeypatch.setattr(prompt_targets, "_counts", lambda *_: 1 / 0)
    with pytest.warns(FtlabWarning, match="prompt_targets") as told:
        assert shares_by_step(prompted(), models_own, steps=2) == [[], []]
    assert len([each for each in told if each.category is FtlabWarning]) == 1


def hooked(model):
    return any(m._forward_hooks for m in model.modules())


@pytest.mark.parametrize("steps", [True, False])
def test_no_hook_stays(steps):
    model = prompted()
    optimizer = adamw(model)
    with Recorder(Subject(model, [optimizer]), [PromptTargets()], [].append):
        loss = models_own(model, batches()[0])
        assert hooked(model)
        if steps:
            loss.backward()
            optimizer.step()
            assert not hooked(model)
    assert not hooked(model)
