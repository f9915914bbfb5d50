"""Which PeftModels are seen to train the tensors of the watched one."""

import copy
import gc
import warnings

import pytest
import torch
from peft import PromptTuningConfig, TaskType, get_peft_model

from ftlab.faults.builders.tiny import batches, llama, lora_config, trainable
from ftlab.probes.adapter.models_on_one_base import ModelsOnOneBase
from ftlab.probes.recorder import Recorder
from ftlab.probes.subject import Subject
from ftlab.records.names import NameRecord
from ftlab.records.step import Block


def on(base, name="default"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return get_peft_model(base, lora_config(base), adapter_name=name)


def prompted(base):
    config = PromptTuningConfig(task_type=TaskType.CAUSAL_LM, num_virtual_tokens=2)
    return get_peft_model(base, config)


def update(model):
    optimizer = torch.optim.SGD(trainable(model), lr=1e-3)
    model(**batches()[0]).loss.backward()
    optimizer.step()


def look(model):
    with torch.no_grad():
        model(**batches()[0])


def look_in_evaluation(model):
    model.eval()
    model(**batches()[0])
    model.train()


def named(model, other, use=update, steps=6):
    """Train both in turn; returns the rows by step, and their names."""
    records = []
    subject = Subject(model, [torch.optim.SGD(trainable(model), lr=1e-3)])
    with Recorder(subject, [ModelsOnOneBase()], records.append):
        for _ in range(steps // 2):
            update(model)
            use(other)
    names = [r for r in records if isinstance(r, NameRecord) and r.table == "one_base"]
    blocks = [r for r in records if isinstance(r, Block) and r.table == "one_base"]
    return {b.step: len(b.ids) for b in blocks}, [r.name for r in names]


def test_two_that_train_the_same_tensors_are_named():
    base = llama()
    first, second = on(base), on(base)
    rows, names = named(first, second)
    assert list(rows) == [2, 4]
    assert set(rows.values()) == {len(trainable(first))}
    assert all(".default." in name for name in names)
    assert named(second, first)[0] == rows


@pytest.mark.parametrize("use", [look, look_in_evaluation])
def test_one_that_is_only_looked_at_is_nothing(use):
    base = llama()
    old = on(base)
    assert named(on(base), old, use) == ({}, [])


def test_models_on_bases_of_their_own_are_nothing():
    model = on(llama())
    assert named(model, copy.deepcopy(model)) == ({}, [])


def test_adapters_of_other_names_are_nothing():
    base = llama()
    first = on(base)
    assert named(first, on(base, "second")) == ({}, [])


def test_prompts_before_one_base_are_nothing():
    base = llama()
    assert named(prompted(base), prompted(base)) == ({}, [])


def test_one_around_another_is_nothing():
    inner = on(llama())
    outer = on(inner)
    assert named(inner, outer) == named(outer, inner) == ({}, [])


def test_models_that_nobody_has_any_more_are_let_go():
    base = llama()
    old = on(base)
    old.held = old
    del old
    probe = ModelsOnOneBase()
    model = on(base)
    gc.disable()
    try:
        with Recorder(Subject(model, []), [probe], [].append):
            update(model)
        assert probe._models == []
    finally:
        gc.enable()
