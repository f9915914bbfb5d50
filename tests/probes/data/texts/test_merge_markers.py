"""Conflicts that were left in texts, and texts about conflicts."""

import pytest

from ftlab.probes.data.rows.row_parts import parts_of
from ftlab.probes.data.texts.merge_markers import merge_markers

CONFLICT = "<<<<<<< HEAD\nreturn 2\n=======\nreturn 3\n>>>>>>> fix/rounding\n"


def faults(answer, prompt="Write f(x)."):
    row = parts_of({"prompt": prompt, "completion": answer})
    return [(part.where, fault.char) for part, fault in merge_markers(row)]


@pytest.mark.parametrize(
    ("text", "char"),
    [
        (CONFLICT, 0),
        (f"def f(x):\n{CONFLICT}", 10),
        (f"```python\n{CONFLICT}```", 10),
        ("a\n<<<<<<< ours\n=======\nb\n>>>>>>> theirs", 2),
        ("<<<<<<< HEAD\r\na\r\n=======\r\nb\r\n>>>>>>> x\r\n", 0),
        (f"a\n{CONFLICT}b\n{CONFLICT}", 2),
        ("<<<<<<< HEAD\na\n||||||| base\nb\n=======\nc\n>>>>>>> x", 0),
    ],
)
def test_a_conflict_is_found_in_answers_and_in_texts(text, char):
    assert faults(text) == [("completion", char)]
    assert [f.char for _, f in merge_markers(parts_of({"text": text}))] == [char]


@pytest.mark.parametrize(
    "text",
    [
        "Title\n=======\n\nIt is so.",
        "<<<<<<< one alone\nIt is so.\n=======\n",
        "cat <<<<<<< x\n=======\n>>>>>>> y",
        f"Both sides of a conflict:\n\n{CONFLICT}",
        f"{CONFLICT}\nThen run `git add f.py`.",
    ],
)
def test_is_silent_on_other_lines_and_on_texts_about_it(text):
    assert faults(text) == []
    assert list(merge_markers(parts_of({"text": text}))) == []


@pytest.mark.parametrize(
    "prompt",
    [
        "What does a conflict look like?",
        "Merge these two files.",
        f"Explain this:\n{CONFLICT}",
    ],
)
def test_where_it_is_asked_for_it_is_meant(prompt):
    assert faults(CONFLICT, prompt) == []


def test_a_conflict_in_a_prompt_is_the_user_s():
    assert faults("It is 2.", f"What is wrong?\n{CONFLICT}") == []
