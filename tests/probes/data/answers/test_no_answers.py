"""Answers that say nothing, and those that only look so."""

import pytest

from ftlab.probes.data.answers.no_answers import no_answers
from ftlab.probes.data.rows.row_parts import parts_of
from tests.probes.data.glanced import glanced


def faults(answer, prompt="Why is the sky blue?", **more):
    row = parts_of({"prompt": prompt, **more, "completion": answer})
    return [(part.where, fault.name) for part, fault in glanced(no_answers, row)]


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        ("{answer}", "placeholder-answer"),
        ("{{ output }}", "placeholder-answer"),
        ("[insert your answer here]", "placeholder-answer"),
        ("<your answer>", "placeholder-answer"),
        ("Your answer here.", "placeholder-answer"),
        ("[object Object]", "placeholder-answer"),
        ("Lorem ipsum dolor sit amet, consetetur", "placeholder-answer"),
        (" nan\n", "missing-value-as-answer"),
        ("#REF!", "missing-value-as-answer"),
        ("TBD", "placeholder-answer"),
        ("Error code: 429 - {'error': {}}", "error-as-answer"),
        ("openai.RateLimitError: too many", "error-as-answer"),
        ("HTTP 502 Bad Gateway", "error-as-answer"),
        ("504 Gateway Time-out\n<html>", "error-as-answer"),
        ('{"error": {"code": 429}}', "error-as-answer"),
        ("An error occurred: The request timed out.", "error-as-answer"),
        ("### Answer:", "answer-behind-mark"),
        ("Assistant: ", "answer-behind-mark"),
        ("**Answer:**", "answer-behind-mark"),
        ("<think>\nIt is as", "reasoning-never-closed"),
        ("<think>\nSo.\n</think>\n\n", "reasoning-without-answer"),
        ("So.\n</think>", "reasoning-without-answer"),
        ("As an AI language model, I cannot see.", "model-named-in-answer"),
    ],
)
def test_an_answer_that_is_none_is_found(answer, name):
    assert faults(answer) == [("completion", name)]


@pytest.mark.parametrize(
    "answer",
    [
        "None",
        "null",
        "N/A",
        "{name}",
        "[Add a file]",
        "The value is nan",
        "TODO: write the tests first, then the code.",
        "Answer: it scatters.",
        "502 Bad Gateway means that a proxy got no answer.",
        "Rate limits are there for all.",
        "<think>\nSo.\n</think>\n\nIt scatters.",
        "The tag <think> opens the reasoning.",
        "Sold as an AIDS treatment.",
    ],
)
def test_is_silent_on_answers_that_say_something(answer):
    assert faults(answer) == []


def test_an_error_may_be_asked_for():
    assert faults("429 Too Many Requests", "Which status is that?") == []
    assert faults("502 Bad Gateway", "What is 502?") == []


def test_a_missing_value_beside_the_prompt_is_found():
    row = {"instruction": "Sum up.", "input": "nan", "output": "It is so."}
    ((part, fault),) = glanced(no_answers, parts_of(row))
    assert (part.where, fault.name) == ("input", "missing-value-as-input")
    assert faults("It is so.", prompt="nan") == []


def test_a_text_that_ends_with_a_mark_is_found_at_the_mark():
    text = "### Question: Why?\n### Answer: "
    ((_, fault),) = glanced(no_answers, parts_of({"text": text}))
    assert text[fault.char :].strip() == "### Answer:"
    assert not list(glanced(no_answers, parts_of({"text": f"{text}So."})))
    assert not list(glanced(no_answers, parts_of({"text": "This is the answer:"})))


def test_a_call_needs_no_words():
    call = {
        "role": "assistant",
        "content": "<think>\na",
        "tool_calls": [{"function": {}}],
    }
    row = {"messages": [{"role": "user", "content": "a"}, call]}
    assert not list(glanced(no_answers, parts_of(row)))


@pytest.mark.parametrize(
    "said",
    [
        "Unexpected error: error code: 503",
        "400 Bad Request",
        "401 Unauthorized",
        "429 Too Many Requests",
        "500 Internal Server Error",
        "Rate limit exceeded.",
        "You exceeded your current quota, please check your plan.",
        "Incorrect API key provided.",
        "Invalid API key.",
        "That model is currently overloaded with other requests.",
        "The engine is currently overloaded.",
        "Request timed out.",
        "upstream connect error or disconnect",
        "RateLimitError: too many",
        "APIConnectionError: none",
        "ServiceUnavailableError: try again",
        "BadRequestError: no",
        "OverloadedError: later",
        "InternalServerError: no",
        "HTTPSConnectionPool(host='api.openai.com', port=443)",
        "This model's maximum context length is 4097 tokens.",
        "{'error': {'message': 'no'}}",
    ],
)
def test_each_message_of_a_service_is_known_by_how_it_begins(said):
    assert faults(said) == [("completion", "error-as-answer")]
    assert faults(said.lower()) == [("completion", "error-as-answer")]


PAGE = "403 Forbidden\n\nnginx/1.18.0 (Ubuntu)"


def test_pages_of_errors_are_found_as_contexts_and_as_answers():
    assert faults("It scatters.", context=PAGE) == [("context", "error-page-as-text")]
    assert faults(PAGE)[0][0] == "completion"
    moment = "Just a moment...\nEnable JavaScript and cookies to continue"
    assert faults(moment) == [("completion", "error-page-as-text")]


def test_a_context_may_be_a_page_that_is_asked_about():
    assert faults("It was refused.", "What does the server say?", context=PAGE) == []
