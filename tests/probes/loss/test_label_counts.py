"""The most common label of a loss, against counting by hand."""

from collections import Counter

import pytest
import torch

from ftlab.probes.loss.label_counts import common_label, weightless


def test_it_is_the_one_that_counts_most_often():
    torch.manual_seed(0)
    labels = torch.randint(0, 6, (3, 50))
    counted = torch.rand(3, 50) < 0.5
    tokens = torch.randint(0, 6, (2, 30))
    label, share, read = common_label(labels, counted, 6, tokens).tolist()
    table = Counter(labels[counted].tolist())
    most = max(table.values())
    assert table[int(label)] == most
    assert share == pytest.approx(most / int(counted.sum()))
    assert read == pytest.approx(float((tokens == int(label)).float().mean()))


def test_labels_that_are_ignored_count_for_nothing():
    labels = torch.tensor([-100, -100, -100, 4, 4, 2])
    label, share, read = common_label(labels, labels != -100, 8, None).tolist()
    assert (label, share) == (4, pytest.approx(2 / 3))
    assert read != read


def test_without_labels_there_is_none():
    labels = torch.full((4,), -100)
    assert common_label(labels, labels != -100, 8, None).isnan().tolist() == [
        False,
        True,
        True,
    ]


def test_labels_of_classes_without_weight():
    labels = torch.tensor([0, 1, 1, 2])
    weight = torch.tensor([1.0, 0.0, 1.0])
    assert weightless(weight, labels, labels >= 0).item() == 0.5
    assert weightless(None, labels, labels >= 0).isnan()
