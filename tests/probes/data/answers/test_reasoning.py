"""Reasoning that ends nowhere, and reasoning that an answer follows."""

import pytest

from ftlab.probes.data.answers.reasoning import reasoning_fault


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("<think>\nIt is 2 + 3.", "reasoning-never-closed"),
        ("<reasoning>It is 5. The answer is 5.", "reasoning-never-closed"),
        ("<think>\nIt is 5.\n</think>\n", "reasoning-without-answer"),
        ("</think>", "reasoning-without-answer"),
        ("<think>", "reasoning-without-answer"),
    ],
)
def test_reasoning_without_an_end_or_an_answer_is_found(text, name):
    assert reasoning_fault(text).name == name


@pytest.mark.parametrize(
    "text",
    [
        "<think>\nIt is 5.\n</think>\n\nFive.",
        "<think> marks a reasoning.",
        "<think>` opens it.",
        "It is <think>.",
        "Five.",
    ],
)
def test_is_silent_on_answers(text):
    assert reasoning_fault(text) is None
