"""Reasoning that is never closed, and reasoning with nothing behind it."""

import pytest

from ftlab.probes.data.answers.only_thoughts import only_thought

CUT = "So it is two and three, and then we add the other"


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ("So.\nThe answer is \\boxed{4}.", ", and comes to an answer"),
        ("It is 2 + 2.\n\nAnswer: 4", ", and comes to an answer"),
        ("\\boxed{4}", ", and comes to an answer"),
        (CUT, ", and breaks off"),
        (f"So.\n{CUT},", ", and breaks off"),
        ("3 * 4 = 317 kg.\n\nThat makes 317 in total.", ""),
        ("It lies at the Seine.\n\nParis", ""),
    ],
)
@pytest.mark.parametrize("mark", ["<think>", "<thinking>", "<reasoning>"])
def test_reasoning_that_is_never_closed_is_found_with_what_is_sure(mark, said, says):
    fault = only_thought(f"{mark}\n{said}")
    assert fault.name == "reasoning-never-closed"
    assert fault.says == f"{mark} is never closed{says}"


@pytest.mark.parametrize(
    "text", ["<think>\nSo.\n</think>\n\n", "So.\n</think>", "<think>\n"]
)
def test_reasoning_with_nothing_behind_it_is_found(text):
    assert only_thought(text).name == "reasoning-without-answer"


@pytest.mark.parametrize(
    "text",
    [
        "<think>\nSo.\n</think>\n\nIt scatters.",
        "<think>\n\n</think>\n\nIt scatters.",
        "The tag <think> opens the reasoning.",
        "<think> is the tag that opens the reasoning.",
        "<think>` and its fellow are marks.",
        "It scatters.",
        "",
    ],
)
def test_is_silent_on_answers_and_on_what_speaks_of_marks(text):
    assert only_thought(text) is None
