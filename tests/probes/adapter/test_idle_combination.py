"""Adapters that were combined, and what uses them."""

import copy
import io

import pytest
import torch

from ftlab.faults.adapter.several_adapters.combined_with_rslora import two_trained
from ftlab.faults.builders.tiny import adamw, batches
from ftlab.faults.builders.trainers import folder
from ftlab.records.step import LedgerEntry
from tests.probes.recording import Recording

LEFT = {"adapter": "mix", "active": "default", "forwards": 1}


def left(*acts, before=()):
    """Combine after an update, act, and return what the ledger says at the end."""
    model = two_trained()
    optimizer, (batch, *_) = adamw(model), batches()

    def update():
        optimizer.zero_grad()
        model(**batch).loss.backward()
        optimizer.step()

    with Recording(model, optimizer) as recording:
        update()
        for act in (*before, combine, *acts):
            update() if act == "update" else act(model)
    ledger = [e for e in recording.records if isinstance(e, LedgerEntry)]
    return [entry.detail for entry in ledger if entry.op == "unused"]


def combine(model, name="mix", source="other"):
    weights = {"weights": [0.5, 0.5], "combination_type": "cat"}
    model.add_weighted_adapter(["default", source], adapter_name=name, **weights)


def look(model, **more):
    with torch.no_grad():
        model(**batches()[0], **more)


def use(model):
    model.set_adapter("mix")


def test_a_look_at_another_adapter_passes_it_by():
    assert left(look) == [LEFT]
    assert left(look, before=[look]) == [LEFT]


def test_a_combination_that_nobody_looks_past_is_not_told():
    assert left() == left(before=[look]) == []


def test_a_look_at_the_base_alone_is_none_at_an_adapter():
    def look_below(model):
        with model.disable_adapter():
            look(model)

    assert left(look_below) == []


def merge(model):
    model.merge_adapter(["mix"])
    model.unmerge_adapter()


def by_row(model):
    look(model.eval(), adapter_names=["mix"] * len(batches()[0]["input_ids"]))


def by_layer(model):
    for module in model.modules():
        if hasattr(module, "lora_A"):
            module.set_adapter("mix")
    look(model)


@pytest.mark.parametrize(
    "act",
    [
        use,
        merge,
        by_row,
        by_layer,
        lambda model: use(copy.deepcopy(model)),
        lambda model: model.delete_adapter("mix"),
        lambda model: model.save_pretrained(folder(model)),
        lambda model: model.state_dict(),
        lambda _: torch.save([1], io.BytesIO()),
        "update",
    ],
    ids=[
        *("chosen", "merged", "row by row", "layer by layer", "in a copy", "deleted"),
        *("saved", "state dict", "written", "trained on"),
    ],
)
def test_what_may_have_used_it_is_believed(act):
    assert left(act, look) == left(look, act) == []


def test_one_that_may_be_a_source_is_forgotten():
    def again(model):
        combine(model, "more", "mix")

    assert left(look, again) == []
    assert left(look, again, look) == [LEFT | {"adapter": "more"}]


def test_what_is_told_says_how_often_something_else_ran():
    def others(model):
        model.set_adapter("other")
        look(model)

    assert left(look, others, others) == [
        {"adapter": "mix", "active": "other", "forwards": 3}
    ]
