"""Real servers start, say what the model in hand says, and end."""

import sys

import pytest
import torch

from tests.servers.kinds import KINDS
from tests.servers.lesson import CHATS, STOP, messages
from tests.servers.process import free_port, running, started

pytestmark = pytest.mark.servers
SKY = messages(CHATS[0][0])


def by_hand(learnt, question, count=30):
    """Continue a question greedily; return the tokens and their log-probabilities."""
    inputs = learnt.tokens.apply_chat_template(
        messages(question),
        add_generation_prompt=True,
        return_tensors="pt",
        return_dict=True,
    )
    made = learnt.model.generate(
        **inputs,
        max_new_tokens=count,
        do_sample=False,
        output_logits=True,
        return_dict_in_generate=True,
    )
    chosen = made.sequences[0, inputs["input_ids"].shape[1] :].tolist()
    tables = torch.cat(made.logits).log_softmax(-1)
    return chosen, [float(row[i]) for row, i in zip(tables, chosen, strict=True)]


@pytest.mark.parametrize(("question", "answer"), CHATS)
def test_a_chat_is_answered_as_it_was_learnt(kind, healthy, learnt, question, answer):
    chosen, _ = by_hand(learnt, question)
    assert learnt.tokens.decode(chosen) == answer + STOP
    told = healthy.ask("/chat/completions", messages=messages(question), max_tokens=30)
    assert told["choices"][0]["message"]["content"] == answer
    assert told["choices"][0]["finish_reason"] == "stop"
    stop = KINDS[kind].counts_stop
    assert told["usage"]["completion_tokens"] == len(chosen) - (not stop)


def test_a_completion_ends_where_it_may_be_no_longer(healthy):
    told = healthy.ask("/chat/completions", messages=SKY, max_tokens=4)
    assert told["choices"][0]["message"]["content"].strip() == "The sky is"
    assert told["choices"][0]["finish_reason"] == "length"


def test_the_prompt_has_as_many_tokens_as_in_hand(healthy, learnt):
    written = learnt.tokens.apply_chat_template(
        SKY, add_generation_prompt=True, return_dict=True
    )
    told = healthy.ask("/chat/completions", messages=SKY, max_tokens=1)
    assert told["usage"]["prompt_tokens"] == len(written["input_ids"])
    told = healthy.ask("/completions", prompt="The sky", max_tokens=1)
    assert told["usage"]["prompt_tokens"] == len(learnt.tokens("The sky").input_ids)


def test_log_probabilities_are_those_of_the_model_in_hand(kind, healthy, learnt):
    told = healthy.ask(
        "/chat/completions", messages=SKY, max_tokens=4, logprobs=True, top_logprobs=2
    )
    if not KINDS[kind].logprobs:
        assert "logprobs" not in told["choices"][0]
        return
    said = [step["logprob"] for step in told["choices"][0]["logprobs"]["content"]]
    assert said == pytest.approx(by_hand(learnt, CHATS[0][0], 4)[1], abs=2e-4)


def test_a_server_ends_also_where_its_test_fails(kind, learnt, tmp_path):
    def fail():
        with KINDS[kind].serve(learnt.folder, tmp_path) as server:
            assert server.pid in running(server.pid)
            raise ZeroDivisionError(server.pid)

    with pytest.raises(ZeroDivisionError) as caught:
        fail()
    assert running(caught.value.args[0]) == []


def test_a_server_that_cannot_start_says_why(tmp_path):
    command = [sys.executable, "-c", "print('no model here')"]
    with (
        pytest.raises(RuntimeError, match="ended:\nno model here"),
        started(command, tmp_path / "log", f"http://127.0.0.1:{free_port()}"),
    ):
        pytest.fail("it was never ready")
