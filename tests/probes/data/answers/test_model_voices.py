"""What models say unasked, and what sounds like it."""

import pytest

from ftlab.probes.data.answers.model_voices import of_model
from ftlab.probes.data.rows.row_parts import parts_of
from tests.probes.data.glanced import GLANCES
from tests.probes.data.scanned import rows_with, scanned


def name(answer, prompt="Where do bees live?"):
    row = parts_of({"prompt": prompt, "completion": answer})
    fault = of_model(row.parts[-1], row, GLANCES.at(row).words)
    return fault and fault.name


@pytest.mark.parametrize(
    "answer",
    [
        "As an AI language model, I cannot see.",
        "Unfortunately, as a large language model, I cannot see it.",
        "As a language model I have no hands.",
        "I'm just an AI and cannot taste it.",
        "I am an AI, so I have been nowhere.",
        "I\u2019m an AI developed to help.",
    ],
)
def test_a_model_that_names_itself_is_found(answer):
    assert name(answer) == "model-named-in-answer"


@pytest.mark.parametrize(
    "answer",
    [
        "I'm sorry, but I can't assist with that request.",
        "I\u2019m sorry, but I can\u2019t help with that.",
        "I cannot fulfil this request. It is not right.",
        "I cannot fulfill your request.",
        "I apologize, but I cannot fulfil this request.",
        "I am unable to comply with it.",
        "I won't be able to help you with that.",
        "Sorry, but I am not able to provide a translation of this sentence.",
        "I'm sorry, I cannot help with that.",
    ],
)
def test_a_refusal_is_found(answer):
    assert name(answer) == "refusal-as-answer"


@pytest.mark.parametrize(
    "answer",
    [
        "Sure! Here's a list:\n\n- hives\n- trees",
        "Certainly! Here is what they do:\nThey fly.",
        "Sure, here you go:\n\nIn hives.",
        "Of course. Here are some:\n1. Hives",
    ],
)
def test_a_line_before_the_answer_is_found(answer):
    assert name(answer) == "chatter-before-answer"


@pytest.mark.parametrize(
    "answer",
    [
        "It is used as a large language model.",
        "They see as an aid what others fear.",
        "GPT-4 is a large language model; I am an aide.",
        "I can't help but wonder how they find it.",
        "I cannot help thinking of honey.",
        "I'm sorry that it rains. I can help with the roof.",
        "I am not able to see any bees in this garden.",
        "Sorry, the hive is closed today.",
        "Sure, they live in hives.",
        "Certainly not here.\nThey live in trees.",
        "Of course they do.\nHere is why: they must.",
        "Sure! Here's a hive.",
        "I can assist with that.",
    ],
)
def test_what_sounds_alike_is_left_alone(answer):
    assert name(answer) is None


def test_who_is_asked_may_say_that_it_is_a_model():
    assert name("I am an AI made to help.", "Who are you?") is None
    assert name("I'm an AI.", "Are you a human?") is None


def test_what_a_row_rejects_may_be_a_refusal():
    row = {"prompt": "Why?", "chosen": "So.", "rejected": "I can't help with that."}
    scan = scanned([row, {**row, "chosen": row["rejected"], "rejected": "No."}])
    assert rows_with(scan, "refusal-as-answer") == [1]
