"""U+FFFD that is shown, and that stands for a letter that is lost."""

import pytest

from ftlab.probes.data.texts.shown_letters import is_shown


@pytest.mark.parametrize(
    "text",
    [
        "# if not utf-8, replace char by \ufffd",
        "with the replacement character ``\ufffd``.",
        "if char == '\ufffd':",
        "Find \u201c\ufffd\u201d in it",
        "One:\nInvalid bytes become \ufffd\nThree",
        "U+FFFD \ufffd",
    ],
)
def test_one_that_is_quoted_or_spoken_of_is_shown(text):
    assert is_shown(text, text.index("\ufffd"))


@pytest.mark.parametrize(
    "text",
    [
        "isn\ufffdt it UTF-8?",
        "utf-8: \ufffd\ufffd",
        "'\ufffd\ufffd'",
        "replaced 20 \ufffdC",
        "It is late \ufffd and dark.",
        "\ufffd 2020 All rights reserved",
        "Replace it.\nIt is late \ufffd and dark.",
        "\ufffd",
        "'a \ufffd b'",
    ],
)
def test_one_within_a_text_is_lost(text):
    assert not is_shown(text, text.index("\ufffd"))
