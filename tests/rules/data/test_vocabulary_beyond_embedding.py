"""DAT078."""

import pytest

from ftlab.faults.chats import tokenizer
from ftlab.faults.tokenizer_folders import change
from ftlab.faults.trainers import words
from ftlab.records.finding import Place, Severity
from ftlab.rules.data.vocabulary_beyond_embedding import VocabularyBeyondEmbedding
from tests.rules.data.folders import (
    is_left_out_without_a_folder_and_open_on_an_empty_run,
    made,
)

ROWS = 366


def codes(added=(), pad="<pad>", rows=ROWS):
    first = tokenizer()
    first.add_tokens(list(added))
    first.add_special_tokens({"pad_token": pad})

    def edit(folder):
        change(folder / "config.json", vocab_size=rows)

    return made(first, edit)[1]


def test_it_is_about_runs_with_a_folder():
    assert is_left_out_without_a_folder_and_open_on_an_empty_run(
        VocabularyBeyondEmbedding()
    )


def test_a_padding_token_without_a_row_is_found():
    (finding,) = codes(pad="<padding>")
    assert (finding.code, finding.severity) == ("DAT078", Severity.ERROR)
    assert finding.place == Place("file", "config.json")


@pytest.mark.parametrize(("rows", "count"), [(128 - 64, 1), (128 - 63, 0)])
def test_a_vocabulary_of_another_model_is_found(rows, count):
    def edit(folder):
        change(folder / "config.json", vocab_size=rows)

    assert len(made(words(), edit)[1]) == count  # its special tokens are 0, 1 and 2


@pytest.mark.parametrize("rows", [ROWS, 512])
def test_a_row_for_each_id_and_more_are_healthy(rows):
    assert codes(rows=rows) == ()


def test_one_token_that_texts_never_hold_is_healthy():
    assert codes(added=["<image_soft_token>"]) == ()
