"""Answers that stand in the reasoning beside them, and calls that need no content."""

import pytest

from ftlab.probes.data.answers.swallowed_answers import swallowed_answers
from ftlab.probes.data.rows.row_parts import parts_of

ASKED = {"role": "user", "content": "2+3?"}
THOUGHT = "2+3=5. It is 5."
CALL = {"type": "function", "function": {"name": "add", "arguments": "{}"}}


def message(content="", **more):
    return {"role": "assistant", "content": content, **more}


def found(*said, **more):
    row = {"messages": [ASKED, *said], **more}
    return [where for _, where, _ in swallowed_answers(row, parts_of(row))]


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning", "thinking"])
@pytest.mark.parametrize("content", ["", " \n", None, []])
def test_an_empty_answer_beside_its_reasoning_is_found(key, content):
    said = message(content, **{key: THOUGHT}, tool_calls=None)
    assert found(said) == ["messages[1].content"]


def test_the_number_of_characters_is_told():
    row = {"messages": [ASKED, message(reasoning=THOUGHT)]}
    ((_, _, says),) = swallowed_answers(row, parts_of(row))
    assert says == "nothing, and 15 characters of reasoning"


def test_an_answer_within_the_conversation_is_found():
    said = message(reasoning=THOUGHT), ASKED, message("It is 5.", reasoning=THOUGHT)
    assert found(*said) == ["messages[1].content"]


def test_a_completion_and_a_chosen_side_are_messages_too():
    said = [message(reasoning=THOUGHT)]
    for row in (
        {"prompt": [ASKED], "completion": said},
        {"prompt": [ASKED], "chosen": said, "rejected": [message("It is 6.")]},
    ):
        assert len(list(swallowed_answers(row, parts_of(row)))) == 1


@pytest.mark.parametrize(
    "said",
    [
        [message("It is 5.", reasoning=THOUGHT)],
        [message(reasoning=THOUGHT, tool_calls=[CALL])],
        [message(reasoning=THOUGHT, function_call={"name": "add"})],
        [message(reasoning=THOUGHT, audio={"id": "a"})],
        [message([{"type": "image", "image": "a.png"}], reasoning=THOUGHT)],
        [message(reasoning=THOUGHT), message("It is 5.")],
        [message(reasoning=THOUGHT), {"role": "tool", "content": "5"}],
        [message(reasoning=" ")],
        [message()],
    ],
)
def test_what_says_or_calls_something_is_no_empty_answer(said):
    assert found(*said) == []


def test_what_is_not_wanted_may_say_nothing():
    assert found(message(reasoning=THOUGHT), label=False) == []
    said = [message(reasoning=THOUGHT)]
    row = {"prompt": [ASKED], "chosen": [message("It is 5.")], "rejected": said}
    assert not list(swallowed_answers(row, parts_of(row)))
