"""Messages of services that failed, whatever their prompt speaks of."""

import pytest

from ftlab.probes.data.answers.no_answers import no_answers
from ftlab.probes.data.rows.row_parts import parts_of
from tests.probes.data.glanced import glanced

LIMITED = "Error: Rate limit reached for gpt-4o in organization org-x on tokens."
FAILED = "Error code: 500 - {'error': {'message': 'The server had an error'}}"
LATE = "Request timed out."
SPEAKING = (
    "Translate: limits the depth of a file",
    "What does it do?\n\n    index = json.load(f)",
    "Shorten it:\n\nif not x:\n    raise ValueError(x)",
    "Where is https://a.example?",
)


def found(answer, prompt, names=("prompt", "completion")):
    row = parts_of(dict(zip(names, (prompt, answer), strict=True)))
    return [fault.name for _, fault in glanced(no_answers, row)]


@pytest.mark.parametrize("prompt", SPEAKING)
@pytest.mark.parametrize(
    "answer",
    [
        LIMITED,
        FAILED,
        LATE,
        "openai.RateLimitError: Error code: 429 - {'error': {}}",
        "You exceeded your current quota, please check your plan.",
        "HTTPSConnectionPool(host='api.a.example', port=443): Read timed out.",
    ],
)
def test_what_a_service_alone_says_is_found_whatever_is_asked(answer, prompt):
    assert found(answer, prompt) == ["error-as-answer"]


@pytest.mark.parametrize(
    "prompt",
    [
        "What does the API say when there is no quota left?",
        "Write an example of an error message.",
        "Which error did it raise?",
        "What is 429?",
        "How does a rate limit of OpenAI look?",
        "The request has timed out; quote the log.",
    ],
)
@pytest.mark.parametrize("answer", [LIMITED, FAILED, LATE])
def test_a_message_may_be_asked_for(answer, prompt):
    assert found(answer, prompt) == []


def test_a_short_message_may_be_a_translation():
    prompt = "Die Zeit der Anfrage ist abgelaufen."
    assert found(LATE, prompt, ("source", "target")) == []
    assert found(LATE, f"Translate into English: {prompt}") == []
    assert found(LATE, f"Sage es anders: {prompt}") == ["error-as-answer"]


@pytest.mark.parametrize(
    "answer",
    [
        "Rate limits are reached by many.",
        "Request timed out. Then I called, and they came.",
        "Error code: 429 means that there were too many requests.",
        "A ValueError is raised: rate limit reached for x in organization y.",
    ],
)
def test_other_answers_are_none(answer):
    assert found(answer, SPEAKING[0]) == []
