"""Answers and the order of roles, faulty and healthy."""

import pytest

from ftlab.probes.data.answers.answer_faults import answer_faults
from ftlab.probes.data.rows.formats import parts_of

LONG = "This is an answer of several words that goes on for a while and then"


def names_in(row):
    return [fault.name for _, fault in answer_faults(parts_of(row))]


def talk(*roles, **more):
    return {"messages": [{"role": r, "content": f"{r} says.", **more} for r in roles]}


@pytest.mark.parametrize(
    "answer",
    [
        "yes",
        "B",
        "billing",
        "The answer is a",
        f"{LONG} it ends.",
        f"{LONG} without a full stop",
        f"{LONG}:\n\n1. one\n2. two",
        f"{LONG}:\n```python\nprint(1)\n```",
        f"{LONG}:\n````markdown\n```python\nx = 1\n```\n````",
        f"{LONG}:\n```markdown\n```python\nx = 1\n```\n```",
        f"def f(xs):\n    return [x for x in xs if x]  # {LONG}",
        f"SELECT a, b FROM t WHERE x = '{LONG}';",
        f"| a | b |\n|---|---|\n| {LONG} | 2 |",
        f"{LONG} „Zitat“",
        f"{LONG} 😀",
        f"{LONG}。日本語の文章を書きます",
        f"{LONG} we will meet again tomorrow :(",
        f"Dear Ana,\n\n{LONG} it is done.\n\nBest regards,",
        "The river runs,\nthe stone is old,\nthe boat is gone,\nthe night is cold,",
        f"{LONG} what they look for and where they come from",
        f"{LONG}. So:\n\n- what the bees look for\n- where the hive is at",
        f"{LONG}. So:\n\n## What the bees that we know look for",
        f"{LONG}. It is as Anna said it to Tom and to Ben in class A",
        f"{LONG}. See it.\n\nThe river is what it is,\nthe stone it is,\nhere we are",
        "Es war schon dunkel. Und so machte er den letzten Rest davon zu",
        "Es war schon dunkel, und so machte er endlich das gro\xdfe Licht an",
        f"{LONG}:\\n```python\\nprint(1)\\n",
    ],
)
def test_is_silent_on_healthy_answers(answer):
    assert names_in({"prompt": "Say it.", "completion": answer}) == []


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (f"{LONG} the", "ends with the"),
        (f"{LONG} this,", "ends with ,"),
        ('{\n  "town": "Oslo",\n  "people": 700000,', "ends within JSON"),
        (f"{LONG} it.\n\n{LONG} it,", "ends with ,"),
        (f"Dear Ana,\n\n{LONG}\n{LONG} it,", "ends with ,"),
        (f"{LONG} (", "ends with ("),
        (f"{LONG}、", "ends with 、"),
        (f"{LONG}:\n```python\nprint(1", "a block of code is never closed"),
    ],
)
def test_an_answer_that_breaks_off_is_found(answer, says):
    row = parts_of({"prompt": "Say it.", "completion": answer})
    ((part, fault),) = answer_faults(row)
    assert (part.where, fault.name, fault.says) == (
        "completion",
        "unfinished-answer",
        says,
    )
    assert answer[fault.char :].strip()


@pytest.mark.parametrize("empty", ["", " \n", None])
def test_an_empty_answer_is_found(empty):
    messages = [{"role": "user", "content": "a"}, {"role": "assistant"}]
    messages[1]["content"] = empty
    assert names_in({"messages": messages}) == ["empty-answer"]
    assert names_in({"instruction": "a", "output": empty}) == ["empty-answer"]


def test_an_empty_solution_is_of_its_own_kind():
    assert names_in({"prompt": "2+2?", "solution": ""}) == ["empty-solution"]


@pytest.mark.parametrize("empty", ["\u200b", "\ufeff \n"])
def test_an_answer_that_nobody_sees_is_empty(empty):
    assert names_in({"prompt": "a", "completion": empty}) == ["empty-answer"]


@pytest.mark.parametrize("answer", ["+", "B.", "3", "\U0001f600", "\u662f", "x = {}"])
def test_an_answer_of_one_sign_may_be_one(answer):
    assert names_in({"prompt": "a", "completion": answer}) == []


def test_an_empty_text_is_found():
    assert names_in({"text": " \n"}) == ["empty-text"]
    assert names_in({"text": "a"}) == []


def test_a_message_that_calls_or_shows_is_not_empty():
    call = {"role": "assistant", "content": None, "tool_calls": [{"function": {}}]}
    result = {"role": "tool", "content": "3"}
    end = {"role": "assistant", "content": "It is 3."}
    asked = {"role": "user", "content": [{"type": "image"}]}
    assert names_in({"messages": [asked, call, result, result, end]}) == []


@pytest.mark.parametrize(
    "roles",
    [
        ("user", "assistant"),
        ("system", "user", "assistant", "user", "assistant"),
        ("developer", "user", "assistant"),
        ("user", "assistant", "tool", "tool", "assistant"),
        ("user", "function_call", "observation", "assistant"),
        ("user", "model"),
    ],
)
def test_is_silent_on_usual_orders(roles):
    assert names_in(talk(*roles)) == []


@pytest.mark.parametrize(
    ("roles", "name", "message"),
    [
        (("user", "user", "assistant"), "roles-out-of-order", 1),
        (("user", "assistant", "assistant"), "roles-out-of-order", 2),
        (("user", "assistant", "system", "user", "assistant"), "roles-out-of-order", 2),
        (("assistant", "user", "assistant"), "roles-out-of-order", 0),
        (("system", "assistant"), "roles-out-of-order", 1),
        (("user", "tool", "assistant"), "roles-out-of-order", 1),
        (("tool", "assistant"), "roles-out-of-order", 0),
        (("user", "asistant"), "unknown-role", 1),
        (("user", "assistant", "user"), "question-without-answer", 2),
        (("system",), "question-without-answer", 0),
    ],
)
def test_roles_out_of_order_are_found_at_their_message(roles, name, message):
    ((part, fault),) = answer_faults(parts_of(talk(*roles)))
    assert (fault.name, part.message) == (name, message)


@pytest.mark.parametrize("answer", [f"{LONG} call("])
def test_what_fills_a_gap_ends_anywhere(answer):
    prompt = "<fim_prefix>x = <fim_suffix>)<fim_middle>"
    assert names_in({"prompt": prompt, "completion": answer}) == []
    assert len(names_in({"prompt": "x = ", "completion": answer})) == 1


def test_a_translation_ends_as_its_text_does():
    row = {"source": "They said, " * 8, "target": "Sie sagten also, " * 8}
    row = {name: text.strip() for name, text in row.items()}
    assert names_in(row) == []
    assert names_in({**row, "source": "They said it."}) == ["unfinished-answer"]


def test_an_answer_beside_its_reasoning_alone_is_empty():
    said = {"role": "assistant", "content": "", "reasoning_content": "It is 5."}
    asked = {"role": "user", "content": "2+3?"}
    assert names_in({"messages": [asked, said]}) == ["empty-answer"]


GOES_ON = "It is so.\n\nUser: And that?\nAssistant: That too."


def test_an_answer_that_goes_on_with_the_next_turn_is_found():
    row = parts_of({"prompt": "Why?", "completion": GOES_ON})
    ((part, fault),) = answer_faults(row)
    assert (part.where, fault.name, fault.char) == (
        "completion",
        "next-turn-in-answer",
        11,
    )
    instructed = "So.\n\n### Instruction:\nAnd that?\n\n### Response:\nToo."
    assert names_in({"prompt": "a", "completion": instructed}) == [
        "next-turn-in-answer"
    ]


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("Write a dialogue of two.", GOES_ON),
        ("Why?", f"They said:{GOES_ON[9:]}"),
        ("Why?", f"```\n{GOES_ON}\n```"),
        ("Why?", "User: And that?\nAssistant: That too."),
        ("Why?", "It is so.\n\nUser: And that?"),
    ],
)
def test_a_talk_may_be_the_answer(prompt, answer):
    assert names_in({"prompt": prompt, "completion": answer}) == []


def test_what_is_rejected_may_break_off():
    row = {"prompt": "a", "chosen": "So.", "rejected": f"{LONG} the"}
    assert names_in(row) == []
    assert names_in({**row, "rejected": ""}) == ["empty-answer"]
    verdict = {"prompt": "a", "completion": f"{LONG} the", "label": False}
    assert names_in(verdict) == []
    assert names_in({**verdict, "label": True}) == ["unfinished-answer"]


@pytest.mark.parametrize(
    "text",
    [
        '{"a": "b", "c": tr',
        '{"a": ["b", ',
        '[{"a": "so it is',
    ],
)
def test_json_that_breaks_off_is_found_at_any_length(text):
    assert names_in({"prompt": "a", "completion": text}) == ["unfinished-answer"]


@pytest.mark.parametrize("text", ['{"a": 1}', "[1, 2", "{a", '{"a": }, "b'])
def test_other_json_does_not_break_off(text):
    assert names_in({"prompt": "a", "completion": text}) == []
