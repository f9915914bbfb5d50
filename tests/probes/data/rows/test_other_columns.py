"""Columns that make a row another one, and those that keep books of it."""

import pytest

from ftlab.probes.data.rows.other_columns import is_aside, other_columns

BOOKS = [
    "id",
    "_id",
    "idx",
    "question_id",
    "conversationId",
    "user-id",
    "sha256",
    "url",
    "source",
    "data_source",
    "split",
    "created_at",
    "row_number",
    "model_name",
    "num_turns",
    "token_count",
    "quality_score",
    "n_tokens",
    "hashed_ip",
    "extra_info",
]
INPUTS = [
    "table",
    "passage",
    "schema",
    "db_id",
    "image_id",
    "image_path",
    "audio_file",
    "category",
    "aspect",
    "language",
    "title",
    "number",
    "numbers",
    "documents",
    "hint",
    "year",
    "file_image",
]


@pytest.mark.parametrize("name", BOOKS)
def test_books_tell_nothing(name):
    assert is_aside(name)


@pytest.mark.parametrize("name", INPUTS)
def test_what_a_question_may_be_about_tells_rows_apart(name):
    assert not is_aside(name)


def test_what_is_read_already_is_no_other_column():
    row = {"Question": "Why?", "translation": {"en": "a"}, "empty": None, 3: "x"}
    texts = [("Question", "Why?"), ("translation.en", "a")]
    assert other_columns(row, texts) is None
