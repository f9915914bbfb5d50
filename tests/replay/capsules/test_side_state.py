"""What a trainer's step moves is put back; what cannot be is named."""

from collections import defaultdict, deque
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import torch

from ftlab.replay.capsules import side_state
from ftlab.replay.capsules.side_state import SideState


@dataclass
class State:
    tokens: int = 0
    history: list[Any] = field(default_factory=list)


class Queue:
    def __init__(self):
        self.items = [1, 2]
        self.served = 0


def test_attributes_are_bound_again_and_new_ones_go():
    first = object()
    owner = SimpleNamespace(step=3, buffer=first, nothing=None)
    kept = SideState(owner)
    owner.step, owner.buffer, owner.nothing, owner.late = 4, [1], "x", 1
    kept.restore()
    assert vars(owner) == {"step": 3, "buffer": first, "nothing": None}


def test_containers_hold_what_they_held_and_stay_the_same():
    metrics = {"train": defaultdict(list, loss=[1.0])}
    logs = {"prompt": deque(["a"], maxlen=2)}
    owner = SimpleNamespace(metrics=metrics, logs=logs, seen={1})
    inner, texts, seen = metrics["train"], logs["prompt"], owner.seen
    kept = SideState(owner)
    inner["loss"].append(2.0)
    inner["late"].append(1.0)
    texts.extend("bc")
    seen.add(2)
    kept.restore()
    assert (owner.metrics, owner.logs, owner.seen) == (metrics, logs, {1})
    assert inner == {"loss": [1.0]}
    assert inner["new"] == []
    assert (list(texts), texts.maxlen) == (["a"], 2)
    assert owner.metrics["train"] is inner


def test_a_dataclass_is_put_back():
    owner = SimpleNamespace(state=State(5, [{"loss": 1}]))
    kept = SideState(owner)
    owner.state.tokens += 7
    owner.state.history.append({})
    owner.state.history[0]["loss"] = 2
    kept.restore()
    assert owner.state == State(5, [{"loss": 1}])
    assert kept.moved == ()


def test_the_inside_of_other_objects_is_looked_at():
    owner = SimpleNamespace(
        args=Queue(), queue=Queue(), other=Queue(), model=torch.nn.Linear(1, 1)
    )
    kept = SideState(owner)
    assert kept.moved == ()
    owner.model.extra = 1
    owner.queue.items.pop()
    assert kept.moved == ("queue (a Queue)",)
    owner.other.served += 1
    assert kept.moved == ("queue (a Queue)", "other (a Queue)")


def test_data_sets_are_not_copied(monkeypatch):
    monkeypatch.setattr(side_state, "LARGEST", 3)
    monkeypatch.setattr(side_state, "LARGE", 2)
    rows, texts = [{"a": 1}] * 4, [[1], [2], [3]]
    owner = SimpleNamespace(rows=rows, texts=texts)
    kept = SideState(owner)
    rows.append({})
    texts[0].append(5)
    texts.append([4])
    kept.restore()
    assert (len(rows), texts) == (5, [[1, 5], [2], [3]])


def test_without_an_owner_there_is_nothing():
    kept = SideState(None)
    kept.restore()
    assert kept.moved == ()
