"""Positions of a loss are found in the batch through its labels."""

import torch

from ftlab.replay.blaming.positions import UNPLACED, Positions

IDS = torch.tensor([[5, 6, 7, 8], [9, 10, 11, 12]])


def test_labels_shifted_and_padded_stand_one_token_on() -> None:
    targets = torch.tensor([6, 7, 8, -1, 10, 11, 12, -1])
    placed = Positions({"input_ids": IDS, "labels": IDS}).place(targets)
    assert placed.samples.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert placed.tokens.tolist() == [1, 2, 3, 4, 1, 2, 3, 4]


def test_labels_cut_by_hand_stand_one_token_on() -> None:
    placed = Positions([IDS]).place(IDS[:, 1:].flatten())
    assert placed.samples.tolist() == [0, 0, 0, 1, 1, 1]
    assert placed.tokens.tolist() == [1, 2, 3, 1, 2, 3]


def test_labels_that_were_shifted_before_stand_in_place() -> None:
    labels = torch.tensor([[6, 7, 8, -100], [10, 11, 12, -100]])
    targets = labels.flatten().where(labels.flatten() >= 0, -1)
    placed = Positions({"input_ids": IDS, "labels": labels}).place(targets)
    assert placed.tokens.tolist() == [0, 1, 2, 3, 0, 1, 2, 3]


def test_samples_of_several_micro_batches_are_counted_on() -> None:
    more = IDS + 20
    positions = Positions([{"labels": IDS}, {"labels": more}])
    first = positions.place(IDS[:, 1:].flatten())
    second = positions.place(more[:, 1:].flatten())
    again = positions.place(IDS[:, 1:].flatten())
    assert second.samples.tolist() == [2, 2, 2, 3, 3, 3]
    assert again.samples.tolist() == first.samples.tolist()
    assert (positions.count, positions.width) == (4, 4)


def test_one_label_a_sample_is_its_only_token() -> None:
    batch = {"input_ids": IDS, "labels": torch.tensor([1, 0])}
    positions = Positions(batch)
    placed = positions.place(batch["labels"])
    assert placed.samples.tolist() == [0, 1]
    assert placed.tokens.tolist() == [0, 0]
    assert not positions.notes


def test_says_when_no_labels_match() -> None:
    positions = Positions({"input_ids": IDS})
    placed = positions.place(torch.arange(50, 58))
    assert placed.samples.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert positions.notes == [UNPLACED]
