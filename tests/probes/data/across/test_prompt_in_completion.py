"""Completions that hold their prompt, and texts that are corrected."""

import pytest

from ftlab.probes.data.across.prompt_in_completion import PromptsInCompletions
from ftlab.probes.data.rows.formats import parts_of
from tests.probes.data.scanned import rows_with, scanned

ASKED = "Why is the sky blue in the evening?"
TITLE = "The Great Wall of the North"
RIGHT = "She reads a book on the garden wall every day."


def names_in(row):
    fault = PromptsInCompletions().look(0, parts_of(row))
    return [] if fault is None else [fault.name]


def found(rows):
    prompts = PromptsInCompletions()
    for at, row in enumerate(rows):
        prompts.look(at, parts_of(row))
    return prompts.found()


def pair(prompt, completion):
    return {"prompt": prompt, "completion": completion}


@pytest.mark.parametrize(
    ("prompt", "completion"),
    [
        (ASKED, f"{ASKED} Because of the light."),
        (f"{TITLE}\nWrite of it", f"{TITLE}\nWrite of it: it is a place."),
    ],
)
def test_a_completion_that_holds_its_prompt_is_found(prompt, completion):
    assert names_in(pair(prompt, completion)) == ["prompt-in-completion"]


@pytest.mark.parametrize(
    ("prompt", "completion"),
    [
        ("a", "a bee"),
        ([], []),
        (TITLE, f"{TITLE} is a place of stone."),
        (TITLE, f"{TITLE}\n\nA place."),
        ("def add(left, right, third=0):", "def add(left, right, third=0):\n    pass"),
        ("We were late.\nThey were not", "We were late.\nThey were not."),
    ],
)
def test_a_completion_may_go_on_with_what_it_was_given(prompt, completion):
    assert names_in(pair(prompt, completion)) == []


def test_a_completion_that_is_its_prompt_is_found():
    rows = [pair(f"{ASKED} {at}", "For the light.") for at in range(40)]
    rows[7] = pair(ASKED, ASKED)
    assert found(rows) == [7]
    assert found([pair(TITLE, TITLE)] * 9) == list(range(9))


@pytest.mark.parametrize("unchanged", [3, 20, 37])
def test_where_texts_are_corrected_the_right_ones_stay_as_they_are(unchanged):
    rows = [
        pair(RIGHT if at < unchanged else RIGHT.replace("reads", "read"), RIGHT)
        for at in range(40)
    ]
    assert found(rows) == []
    assert rows_with(scanned(rows), "prompt-in-completion") == []


def test_where_capitals_are_put_in_some_are_there_already():
    rows = [pair(RIGHT.upper() if at % 2 else RIGHT, RIGHT) for at in range(40)]
    assert found(rows) == []


def test_of_many_rows_some_are_compared():
    rows = [pair(ASKED, "For the light.")] * 20 + [pair(ASKED, ASKED)] * 1100
    assert len(found(rows)) == 1100
    rows += [pair(ASKED, ASKED.replace("sky", "sea"))] * 64
    assert found(rows) == []
