"""Preflight looks at the first rows of a dataset."""

import pytest
import torch

import ftlab
from ftlab.faults.builders.chats import sized, tokenizer
from ftlab.faults.builders.rows import pairs, talks
from ftlab.session.preflight import row_scan
from tests.runs import places

MADE = tokenizer()


def checked(dataset, **settings):
    model = sized(MADE)
    return ftlab.preflight(model, dataset=dataset, tokenizer=MADE, dry_steps=0)["data"]


def items(dataset, name):
    return [each for each in checked(dataset) if each.name == name]


def test_a_fault_of_the_rows_fails_with_its_places():
    rows = pairs()
    rows[7]["completion"] = ""
    (item,) = items(rows, "answers incomplete")
    assert (item.status, item.code) == ("failed", "DAT058")
    assert places(item) == ["data row 7 completion"]


def test_healthy_rows_pass():
    assert not [each for each in checked(talks()) if each.code.startswith("DAT05")]
    assert items(talks(), "rows of the dataset") == []


def test_no_more_than_the_first_rows_are_looked_at(monkeypatch):
    monkeypatch.setattr(row_scan, "ROWS", 20)
    rows = pairs()
    rows[30]["completion"] = ""
    (item,) = items(rows, "rows of the dataset")
    assert item.says == "the first 20 of 60 rows were looked at"
    assert items(rows, "answers incomplete") == []


class Own(torch.utils.data.Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, at):
        raise AssertionError


@pytest.mark.parametrize(
    ("dataset", "says"),
    [(Own(), "the dataset is a Own"), ([{"pixels": 1}] * 4, "No row is recognised")],
)
def test_rows_that_are_no_texts_are_left_to_the_batches(dataset, says):
    (item,) = items(dataset, "rows of the dataset")
    assert item.status == "not checked"
    assert item.says.startswith(says)
    assert "ftlab.data" in item.fix
