"""Arguments come back as they were, whatever the step did to them."""

from collections import UserDict

import torch

from ftlab.replay.inputs import KeptInputs


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
