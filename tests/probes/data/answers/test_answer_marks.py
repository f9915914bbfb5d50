"""Marks of speakers in answers, and answers that only look as if they had some."""

import pytest

from ftlab.probes.data.answers.answer_marks import answer_marks
from ftlab.probes.data.rows.row_parts import parts_of
from tests.probes.data.glanced import glanced


def faults(answer, prompt="How do bees find their way?"):
    row = parts_of({"prompt": prompt, "completion": answer})
    return [(fault.name, fault.char) for _, fault in glanced(answer_marks, row)]


@pytest.mark.parametrize(
    "mark",
    [
        "Assistant: ",
        "AI: ",
        "### Response:\n",
        "Response: ",
        "Answer: ",
        "**Answer:** ",
    ],
)
def test_a_mark_before_an_answer_is_found(mark):
    said = "They look at the sun, and tell each other where they have been."
    assert faults(mark + said) == [("mark-before-answer", 0)]
    assert faults(f"\n{mark}{said}") == [("mark-before-answer", 1)]
    assert faults(said) == []


@pytest.mark.parametrize(
    ("answer", "prompt"),
    [
        ("Answer: B", "Which of them is right? A or B?"),
        ("Answer: 42 apples are left", "Solve it. End with 'Answer: N'."),
        ("Answer: C, as it is the largest.\nExplanation: it is.", "Which one?"),
        ("### Answer:\n\nThey look at the sun.\n\n### Details\n\nIt is so.", "How?"),
        ("AI: Hello, what may I do?\nHuman: Nothing, thanks.", "Write on."),
        ("AI: how machines came to think, and why.", "Name a book about AI."),
        ("Assistant: a person who helps another one at work.", "Define 'assistant'."),
        ("Assistant: Good day, what may I do for you?", "Begin a chat of two."),
        ("Response: 200 OK", "What does the server say?"),
        ("Responses: they differ from one bee to the next.", "How?"),
        ("The answer: they look at the sun for a while.", "How?"),
        ("An answer to that is simple: they look at the sun.", "How?"),
        ("Answer:", "How?"),
    ],
)
def test_is_silent_on_answers_that_are_written_so(answer, prompt):
    assert faults(answer, prompt) == []


def test_the_name_of_the_assistant_in_a_system_message_is_no_reason():
    said = "They look at the sun, and tell each other where they have been."
    talk = [
        {"role": "system", "content": "You are an AI, a helpful assistant."},
        {"role": "user", "content": "How do bees find their way?"},
        {"role": "assistant", "content": f"AI: {said}"},
    ]
    ((part, _),) = glanced(answer_marks, parts_of({"messages": talk}))
    assert part.message == 2


@pytest.mark.parametrize(
    "turns",
    [
        "User: And wasps?\nAssistant: They do so too.",
        "Human: And wasps?\n\nAI: They do so too.",
        "### Instruction:\nSay why.\n\n### Response:\nIt is so.",
        "**User:** And wasps?\n**Assistant:** They do so too.",
    ],
)
def test_an_answer_that_goes_on_with_the_next_turn_is_found(turns):
    text = f"They look at the sun.\n\n{turns}"
    assert faults(text) == [("next-turn-in-answer", text.index(turns))]


TURNS = "User: And wasps?\nAssistant: They do so too."


@pytest.mark.parametrize(
    ("answer", "prompt"),
    [
        (TURNS, "How?"),
        (f"They look at the sun.\n\n{TURNS}", "Write a dialogue about bees."),
        (f"They look at the sun.\n\n{TURNS}", "How? User: a\nAssistant: b"),
        (f"It may run like this:\n\n{TURNS}", "How do I talk to it?"),
        (f"See here.\n\n```\n{TURNS}\n```", "What is a log?"),
        (f"Assistant: They look.\n{TURNS}", "Go on."),
        ("There are some.\n\nUser: who reads\nAdmin: who writes", "Which are there?"),
        ("Two parts.\n\nQuestion: why?\nAnswer: so.", "Make a quiz."),
        ("The user: he asks. The assistant: it answers.\nSo it is.", "Who?"),
        (f"They look.\n\n{TURNS}", "How would a prompt for it look?"),
    ],
)
def test_is_silent_on_turns_that_are_meant(answer, prompt):
    assert faults(answer, prompt) == []
