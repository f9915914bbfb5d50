"""Columns that are removed although the user's code reads them; nothing is called."""

import functools

import pytest
from datasets import Dataset
from torch import nn
from torch.utils.data import Dataset as Rows
from transformers import DataCollatorWithPadding, Trainer, default_data_collator

from ftlab.faults.builders.tiny import base, batches, rows_of
from ftlab.faults.builders.trainers import trained
from ftlab.session.integrations.removed_columns import removed_and_read
from ftlab.session.watch import watch

COLUMN = "importance"


def rows():
    made = [{k: v.tolist() for k, v in row.items()} for row in rows_of(batches(1))]
    return Dataset.from_list([row | {COLUMN: 1.0, "text": "words"} for row in made])


def found(kind=Trainer, model=None, **settings):
    settings = {"rows": rows()} | settings
    case = trained(model or base(), kind=kind, **settings)
    before = dict(vars(case.trainer))
    reads = removed_and_read(case.trainer).get("removed_and_read", ())
    assert vars(case.trainer) == before
    return [(each["column"], each["where"].rpartition(".")[2]) for each in reads]


class ByGet(Trainer):
    def compute_loss(self, model, inputs, *_, **__):
        return model(**inputs).loss * inputs.get("importance", 1)


class ByConstant(Trainer):
    def compute_loss(self, model, inputs, *_, **__):
        loss = model(**inputs).loss
        return loss * inputs[COLUMN] if COLUMN in inputs else loss


class ByMethod(Trainer):
    def compute_loss(self, model, inputs, *_, **__):
        return self.weighed(model, batch=inputs)

    def weighed(self, model, batch):
        return taken(batch) * model(**batch).loss


def taken(batch):
    return batch.pop("importance", 1)


class Thrown(Trainer):
    def compute_loss(self, model, inputs, *_, **__):
        inputs.pop("importance", None)
        _ = inputs.pop("text", None)
        outputs = {"importance": model(**inputs).loss, "text": 0}
        return outputs["importance"]


@pytest.mark.parametrize(
    ("kind", "where"),
    [(ByGet, "compute_loss"), (ByConstant, "compute_loss"), (ByMethod, "compute_loss")],
)
def test_what_a_loss_reads_of_the_batch_is_named(kind, where):
    assert found(kind) == [(COLUMN, where)]


def test_what_a_forward_reads_of_its_keywords_is_named():
    class Weighted(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = base()

        def forward(self, input_ids, labels, **rest):
            loss = self.inner(input_ids=input_ids, labels=labels).loss
            return {"loss": loss * rest["importance"] if "importance" in rest else loss}

    assert found(model=Weighted()) == [(COLUMN, "forward")]


def by_loop(rows):
    for number, row in enumerate(rows):
        number += row.get("importance", 0)
    return default_data_collator(rows)


def by_comprehension(rows):
    total = sum(row["importance"] for row in rows if "importance" in row)
    return default_data_collator(rows) | ({"total": total} if total else {})


def by_the_first(rows):
    return collated(rows) if "importance" in rows[0] else default_data_collator(rows)


def collated(rows):
    return {"importance": rows[0]["importance"]}


def with_more(scale, rows):
    return default_data_collator(
        [each | {"a": each.get("importance")} for each in rows]
    )


class Collator:
    def __init__(self):
        self.read = [{}]

    def __call__(self, features):
        return default_data_collator([self.kept(each) for each in features])

    def kept(self, row):
        row.pop("text", None)
        self.read[0]["text"] = row.get("importance")
        return row


class Padded(DataCollatorWithPadding):
    def torch_call(self, features):
        features = [each for each in features if each.get("importance", 1)]
        return default_data_collator(features)


@pytest.mark.parametrize(
    ("collator", "where"),
    [
        (by_loop, "by_loop"),
        (by_comprehension, "by_comprehension"),
        (by_the_first, "by_the_first"),
        (functools.partial(with_more, 2), "with_more"),
        (Collator(), "__call__"),
        (Collator().__call__, "__call__"),
        (Padded(None), "torch_call"),
    ],
)
def test_what_a_collator_reads_of_its_rows_is_named(collator, where):
    assert found(trainer={"data_collator": collator}) == [(COLUMN, where)]


def test_a_collator_in_c_is_passed_over():
    assert found(ByGet, trainer={"data_collator": dict}) == [(COLUMN, "compute_loss")]


def test_a_collator_of_a_library_reads_what_is_there(monkeypatch):
    monkeypatch.setattr(by_loop, "__module__", "trl.data_utils")
    assert found(trainer={"data_collator": by_loop}) == []


def test_what_is_taken_out_and_left_is_not():
    assert found(Thrown) == []


def test_nothing_is_said_where_nothing_is_removed_or_nobody_reads():
    assert found() == []
    assert found(ByGet, remove_unused_columns=False) == []
    assert found(ByGet, label_names=["labels", COLUMN]) == []


def test_a_loader_of_one_s_own_may_keep_what_it_likes():
    class Own(ByGet):
        def get_train_dataloader(self):
            return None

    assert found(Own) == []


def test_rows_in_a_list_name_their_columns_too():
    assert found(ByGet, rows=list(rows())) == [(COLUMN, "compute_loss")]
    assert found(ByGet, rows=object()) == []


class Listed(Rows):
    """Rows that name their columns themselves, and are counted."""

    def __init__(self):
        self.rows, self.loaded = list(rows().with_format("torch")), 0
        for row in self.rows:
            del row["text"]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        self.loaded += 1
        return self.rows[index]


@pytest.mark.parametrize(("kind", "count"), [(ByGet, 1), (Thrown, 0)])
def test_where_only_rows_name_columns_the_first_one_is_heard(kind, count, tmp_path):
    data = Listed()
    trainer = trained(base(), kind=kind, rows=data, max_steps=2).trainer
    watching = watch(trainer, run_dir=tmp_path / "run")
    trainer.train()
    watching.detach()
    assert data.loaded == 4 * 2
    assert [each.code for each in watching.findings].count("MOD013") == count
    loader = trainer.get_train_dataloader()
    assert "_remove_columns" not in vars(loader.collate_fn)
