"""Control characters as spreadsheets write them, and texts about these."""

import pytest

from ftlab.probes.data.rows.row_parts import parts_of
from ftlab.probes.data.texts.sheet_escapes import sheet_escapes


def faults(text):
    return [fault.char for _, fault in sheet_escapes(parts_of({"text": text}))]


@pytest.mark.parametrize(
    ("text", "char"),
    [
        ("One._x000D_\nTwo._x000D_\n", 4),
        ("One_x000D_", 3),
        ("One_x000D__x000D_", 3),
        ("a _x0007_ b", 2),
        ("One;_x0009_two", 4),
    ],
)
def test_what_was_not_read_back_is_found(text, char):
    assert faults(text) == [char]


@pytest.mark.parametrize(
    "text",
    [
        "x.replace('_x000D_', '')",
        "`_x000D_` is a line end",
        "Excel writes _x000D_ there.",
        "reg_x000D_value = 1",
        "A_x0020_b",
        "_x00ff_",
        "_x000d_",
    ],
)
def test_is_silent_on_names_and_on_texts_about_it(text):
    assert faults(text) == []
