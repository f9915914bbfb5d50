"""The tokenizer's fingerprint in the records of a run."""

import json

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast

from ftlab.probes.tokenizers.fingerprint import read_fingerprint
from ftlab.probes.tokenizers.tokenizer_prints import TokenizerPrints
from ftlab.records.event import Event
from ftlab.records.fingerprint import Fingerprint
from tests.probes.recording import Recording


def made() -> PreTrainedTokenizerFast:
    inner = Tokenizer(WordLevel({"a": 0, "b": 1, "[UNK]": 2}, unk_token="[UNK]"))
    return PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="[UNK]")


def told(tokenizer, steps=6, at=None, change=None, interval=1) -> list[Event]:
    """Train some steps, with a change before one of them."""
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    settings = {"probes": [TokenizerPrints(interval)], "tokenizer": tokenizer}
    with Recording(model, optimizer, **settings) as recording:
        for step in range(steps):
            if step == at:
                change(tokenizer)
            model(torch.ones(1, 2)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    return [each for each in recording.records if isinstance(each, Event)]


def test_it_is_told_once_where_nothing_changes():
    tokenizer = made()
    (event,) = told(tokenizer)
    assert (event.kind, event.step) == ("tokenizer", 0)
    kept = json.loads(json.dumps(event.detail["fingerprint"]))
    assert Fingerprint.from_json(kept) == read_fingerprint(tokenizer)


def test_a_change_on_the_way_is_told_with_its_step_and_parts():
    first, second = told(made(), at=3, change=lambda each: each.add_tokens(["c"]))
    assert (first.step, second.step) == (0, 3)
    assert second.message == "the tokenizer has changed: vocabulary, added tokens"
    assert second.detail["changed"] == ["vocabulary", "added tokens"]
    assert first.detail["fingerprint"] != second.detail["fingerprint"]


def test_what_goes_to_and_fro_is_told_in_full_once():
    def swap(each):
        each.padding_side = "left" if each.padding_side == "right" else "right"

    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    tokenizer = made()
    settings = {"probes": [TokenizerPrints(1)], "tokenizer": tokenizer}
    with Recording(model, optimizer, **settings) as recording:
        for _ in range(4):
            model(torch.ones(1, 2)).sum().backward()
            optimizer.step()
            swap(tokenizer)
    events = [each for each in recording.records if isinstance(each, Event)]
    assert ["fingerprint" in each.detail for each in events] == [True] * 2 + [False] * 2
    digests = [each.detail["digest"] for each in events]
    assert digests[:2] == digests[2:]
    assert events[3].detail["changed"] == ["padding and truncation"]


def test_it_looks_at_the_steps_of_its_interval():
    events = told(made(), 40, 33, lambda each: each.add_tokens(["c"]), interval=4)
    assert [each.step for each in events] == [0, 36]


def test_without_a_tokenizer_nothing_is_told():
    assert told(None) == []
    assert told(object()) == []
