"""Passes beside the training pass, and whether they give what it gives."""

import copy
import pickle

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from ftlab.faults.builders.preferences import log_chance, pairs, preferring
from ftlab.faults.builders.tiny import adamw, base, batches, lora
from ftlab.probes.graph.reference_passes import ReferencePasses
from ftlab.probes.recorder import Recorder
from ftlab.probes.subject import Subject
from ftlab.records.step import StepRecord


def values_of(model, before=None, steps=3):
    """Train by DPO; return the last step's numbers of passes."""
    optimizer, records = adamw(model), []
    before = before or (lambda ids: log_chance(model, ids))
    step = preferring(model, optimizer, before)
    with Recorder(Subject(model, [optimizer]), [ReferencePasses()], records.append):
        for batch in pairs()[:steps]:
            step(batch)
    return [each for each in records if isinstance(each, StepRecord)][-1].values


def same(values):
    return [values[f"same_{end}"] for end in ("passes", "by_copy", "by_base")]


def test_the_model_itself_is_told_from_a_copy_and_from_what_peft_is_around():
    assert same(values_of(base())) == [1, 0, 0]
    model = base()
    twin = copy.copy(model)
    assert same(values_of(model, lambda ids: log_chance(twin, ids))) == [0, 1, 0]
    plain = base()
    wrapped = lora(plain)
    assert same(values_of(wrapped, lambda ids: log_chance(plain, ids))) == [0, 0, 1]


def test_a_model_that_stays_behind_is_not_the_policy():
    model = base()
    kept = copy.deepcopy(model)
    assert same(values_of(model, lambda ids: log_chance(kept, ids))) == [0, 0, 0]


def test_a_pass_with_the_adapter_off_is_another_one_even_where_it_gives_the_same():
    model = lora()

    def before(ids):
        with model.disable_adapter():
            return log_chance(model, ids)

    # Before the first update a fresh adapter adds nothing.
    assert same(values_of(model, before, steps=1)) == [0, 0, 0]


def test_sixteen_bits_are_no_proof_unless_layers_tell_their_state():
    assert same(values_of(base().to(torch.bfloat16))) == [0, 0, 0]
    assert same(values_of(lora(base().to(torch.bfloat16)))) == [1, 0, 0]


def test_what_a_checkpoint_computes_again_in_backward_is_no_pass():
    model = base()
    optimizer, records = adamw(model), []
    with Recorder(Subject(model, [optimizer]), [ReferencePasses()], records.append):
        ids = batches()[0]["input_ids"]
        checkpoint(lambda: log_chance(model, ids), use_reentrant=False).sum().backward()
        optimizer.step()
    (row,) = [each for each in records if isinstance(each, StepRecord)]
    assert same(row.values) == [0, 0, 0]
    assert row.values["policy_passes"] == 1


def test_two_micro_batches_of_one_step_are_two_passes():
    model = base()
    optimizer, records = adamw(model), []
    with Recorder(Subject(model, [optimizer]), [ReferencePasses()], records.append):
        for batch in batches()[:2]:
            model(**batch).loss.backward()
        optimizer.step()
    (row,) = [each for each in records if isinstance(each, StepRecord)]
    assert row.values["policy_passes"] == 2
    assert same(row.values) == [0, 0, 0]


@pytest.mark.parametrize(
    "make", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))]
)
def test_hooks_change_nothing_do_not_travel_and_come_off(make):
    torch.manual_seed(0)
    model, plain = base(), base()
    optimizer = adamw(model)
    state = torch.get_rng_state()
    with Recorder(Subject(model, [optimizer]), [ReferencePasses()], [].append):
        answer = model(**batches()[0])
        other = make(model)
        assert torch.equal(other(**batches()[0]).logits, answer.logits)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(plain(**batches()[0]).logits, answer.logits)
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
