"""Texts beside ids, in datasets of a real Trainer."""

import pytest
from datasets import Dataset

from ftlab.faults.builders.chats import sized
from ftlab.faults.builders.prose import some, tokenizer
from ftlab.faults.builders.trainers import trained
from ftlab.session.integrations.given_texts import ROWS, retold


def told(rows, made, **settings):
    data = Dataset.from_list(rows)
    further = {"processing_class": made}
    case = trained(sized(made), rows=data, trainer=further, **settings)
    return retold(case.trainer)


def rows_of(made, **columns):
    return [
        {"text": text, "input_ids": made(text)["input_ids"], **columns}
        for text in some(10)
    ]


def test_ids_of_the_text_are_those_that_the_tokenizer_makes():
    made = tokenizer()
    found = told(rows_of(made), made)["texts"]
    assert (found["rows"], found["column"]) == (ROWS, "text")
    assert found["kept"] == [1.0] * ROWS


def test_ids_of_another_version_have_hardly_a_token_in_common():
    found = told(rows_of(tokenizer()), tokenizer(reserved=96))["texts"]
    assert max(found["kept"]) < 0.2


def test_ids_that_were_cut_or_put_into_a_template_are_those_of_the_text():
    made = tokenizer()
    rows = rows_of(made)
    for row in rows:
        row["input_ids"] = [1, 5, 6, *row["input_ids"][:40]]
    assert min(told(rows, made)["texts"]["kept"]) > 0.9


@pytest.mark.parametrize(
    "rows",
    [
        [{"input_ids": [5, 6]}],
        [{"text": "a"}],
        [{"title": "a", "input_ids": [5]}],
    ],
)
def test_without_a_text_beside_ids_nothing_is_told(rows):
    assert told(rows, tokenizer(), remove_unused_columns=False) == {}


def test_a_tokenizer_that_draws_is_not_asked():
    made = tokenizer()
    rows = rows_of(made)
    made.backend_tokenizer.model.dropout = 0.1
    assert told(rows, made) == {}
