"""What stands between the texts of messages: headers, ends, prompts, added texts."""

import pytest

from tests.probes.templates import styles
from tests.probes.templates.reading import TALK, read
from tests.probes.templates.styles import ALL, assistant, parts, system, user

ENDS = {
    "marked": ("<|close|>\n", "<|close|>\n"),
    "heads": ("<|eot|>", "<|eot|>"),
    "brackets": ("</s>", "</s>"),
    "turns": ("<end>\n", "<end>\n"),
    "unended": ("", ""),
    "closed_by_the_next": ("<|done|>", ""),
    "ended_by_the_next": ("<|close|>\n", ""),
    "channels": ("<|end|>", "<|return|>"),
    "odd": ("[e~[\n", "[e~[\n"),
    "unasked": ("<|e|>", "<|e|>"),
    "thinking": ("<|close|>\n", "<|close|>\n"),
}


@pytest.mark.parametrize("name", ENDS)
def test_ends_are_found_within_a_conversation_and_behind_it(name):
    found = parts(read(ALL[name], TALK))
    first = "".join(text for part, m, text in found if part == "end" and m == 1)
    last = "".join(text for part, m, text in found if part == "end" and m == 3)
    assert (first, last) == ENDS[name]


PROMPTS = {
    "marked": "<|open|>assistant\n",
    "ended_by_the_next": "<|open|>assistant\n",
    "heads": "<|head|>assistant<|tail|>\n\n",
    "brackets": "",
    "thinking": "<|open|>assistant\n<think>\n",
    "channels": "<|start|>assistant",
    "unasked": "<|s|><|assistant|><|think|>",
}


@pytest.mark.parametrize("name", PROMPTS)
def test_the_generation_prompt_is_a_part_of_its_own(name):
    found = parts(read(ALL[name], TALK[:3], add_generation_prompt=True))
    prompt = "".join(t for part, _, t in found if part == "generation prompt")
    assert prompt == PROMPTS[name]


def test_an_unasked_prompt_is_told_from_the_end():
    assert parts(read(styles.UNASKED, TALK[:2]))[-2:] == [
        ("end", 1, "<|e|>"),
        ("generation prompt", -1, "<|s|><|assistant|><|think|>"),
    ]


def test_whitespace_belongs_to_the_text_where_it_is_kept():
    spaced = [user("  a \n"), assistant("\n b")]
    kept = parts(read(styles.MARKED, spaced))
    assert [text for part, _, text in kept if part == "text"] == ["  a \n", "\n b"]


def test_whitespace_belongs_to_the_template_where_it_is_stripped():
    spaced = [user("  a \n"), assistant("\n b")]
    stripped = parts(read(styles.HEADS, spaced))
    assert ("text", 0, "a") in stripped
    assert ("text", 1, "b") in stripped
    assert ("header", 1, "<|head|>assistant<|tail|>\n\n") in stripped


def test_a_text_that_a_template_adds_before_an_answer_is_added():
    found = parts(read(styles.THINKING, TALK[:2]))
    assert ("added", 1, "<think>\n\n</think>\n\n") in found


def test_a_system_text_of_the_template_is_added():
    found = parts(read(styles.DEFAULT_SYSTEM, TALK[:2]))
    assert found[0] == ("added", -1, "<|open|>system\nYou are Orla.<|close|>\n")
    own = parts(read(styles.DEFAULT_SYSTEM, [system("Be."), *TALK[:2]]))
    assert own[:3] == [
        ("header", 0, "<|open|>system\n"),
        ("text", 0, "Be."),
        ("end", 0, "<|close|>\n"),
    ]


def test_empty_answers_have_a_header_and_an_end():
    talk = [user("x"), assistant(""), user("y"), assistant("z")]
    assert parts(read(styles.MARKED, talk))[3:6] == [
        ("header", 1, "<|open|>assistant\n"),
        ("end", 1, "<|close|>\n"),
        ("header", 2, "<|open|>user\n"),
    ]
