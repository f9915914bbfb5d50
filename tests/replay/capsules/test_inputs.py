"""Arguments come back as they were, whatever the step did to them."""

from collections import UserDict
from types import SimpleNamespace

import torch

from ftlab.replay.capsules.inputs import KeptInputs


def test_popped_keys_and_appended_items_are_put_back_in_the_callers_containers():
    ids, labels = torch.ones(2), torch.ones(2)
    batch, extra = {"ids": ids, "labels": labels}, [1]
    kept = KeptInputs((batch, extra), {})
    batch.pop("labels")
    batch["new"] = 3
    extra.append(2)
    kept.restore()
    assert list(batch) == ["ids", "labels"]
    assert batch["labels"] is labels
    assert extra == [1]


def test_the_order_of_keys_is_put_back():
    batch = {"a": 1, "b": 2}
    kept = KeptInputs((batch,), {})
    batch["a"] = batch.pop("a")
    assert list(batch) == ["b", "a"]
    kept.restore()
    assert list(batch) == ["a", "b"]


def test_values_changed_in_place_are_put_back():
    batch = UserDict(labels=torch.tensor([1, 2]))
    kept = KeptInputs((batch,), {})
    batch["labels"][0] = -100
    kept.restore()
    assert batch["labels"].tolist() == [1, 2]


def test_the_batch_is_found_among_the_arguments():
    model, batch = torch.nn.Linear(1, 1), {"x": torch.ones(1)}
    assert list(KeptInputs((model, batch), {"count": 3}).batch()) == ["x"]
    assert KeptInputs((model, torch.ones(1)), {}).batch().tolist() == [1]
    kept = KeptInputs((batch,), {})
    batch.clear()
    assert list(kept.batch()) == ["x"]


class Graph:
    """A batch as libraries for graphs have them: objects within an object."""

    def __init__(self):
        self.store = SimpleNamespace(values={"x": torch.ones(2)}, owner=self)
        self.size = 2


def test_what_an_object_holds_comes_back():
    graph = Graph()
    first = graph.store.values["x"]
    kept = KeptInputs((graph,), {})
    first.mul_(3)
    graph.store.values["x"] = torch.zeros(1)
    graph.size, graph.added = 7, True
    kept.restore()
    assert graph.store.values["x"] is first
    assert first.tolist() == [1, 1]
    assert vars(graph) == {"store": graph.store, "size": 2}


def test_a_large_tensor_in_an_object_is_refused_by_name():
    batch = SimpleNamespace(x=torch.ones(1 << 17))
    kept = KeptInputs((batch,), {})
    batch.x.mul_(2)
    assert "the batch's 'x' was changed in place" in (kept.obstacle() or "")


def test_models_and_classes_are_no_batches():
    model = torch.nn.Linear(2, 1)
    kept = KeptInputs((model, Graph, torch, len), {})
    model.note = 1
    kept.restore()
    assert model.note == 1
