"""The tokenizer's fingerprint in the records of a run."""

import json
from pathlib import Path

import pytest
import torch
from tokenizers import AddedToken, Tokenizer
from tokenizers.models import WordLevel
from transformers import AutoTokenizer, PreTrainedTokenizerFast, TrainerCallback

import ftlab
from ftlab.faults.builders import chats
from ftlab.probes.tokenizers.fingerprint import read_fingerprint
from ftlab.probes.tokenizers.tokenizer_prints import TokenizerPrints
from ftlab.records.event import Event
from ftlab.records.fingerprint import Fingerprint
from tests.models import update
from tests.probes.recording import Recording
from tests.probes.tokens.vocabularies import byte_level


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
            update(model(torch.ones(1, 2)).sum(), optimizer)
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


@pytest.fixture
def loaded(tmp_path):
    byte_level().save_pretrained(tmp_path)
    return AutoTokenizer.from_pretrained(tmp_path)


def reload(tokenizer):
    """Change the files, and take what they hold into the live tokenizer."""
    folder = Path(tokenizer.name_or_path)
    other = AutoTokenizer.from_pretrained(folder)
    other.add_special_tokens({"additional_special_tokens": ["<|tool|>"]})
    other.save_pretrained(folder)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|tool|>"]})


def test_a_hot_reload_is_verified_by_the_folder(loaded):
    _, second = told(loaded, at=3, change=reload)
    assert second.detail["reloaded"]
    assert second.detail["apart"] == []
    assert second.message.endswith("; it is what its folder holds")


def test_a_change_that_the_folder_does_not_have_is_told_with_what_is_apart(loaded):
    _, second = told(loaded, at=3, change=lambda each: each.add_tokens(["<new>"]))
    assert second.detail["reloaded"] is False
    assert second.detail["apart"] == ["vocabulary", "added tokens"]


def test_the_side_of_the_padding_asks_no_folder(loaded):
    def swap(each):
        each.padding_side = "left" if each.padding_side == "right" else "right"

    _, second = told(loaded, at=3, change=swap)
    assert second.detail["changed"] == ["padding and truncation"]
    assert "reloaded" not in second.detail


def test_a_trainer_that_gets_another_tokenizer_tells_it(tmp_path):
    tokenizer = chats.tokenizer()
    rows = chats.labelled(chats.ids_of(tokenizer, chats.chats()))
    case = chats.trained_on(tokenizer, rows, chats.padded_by_length(tokenizer))

    class Replace(TrainerCallback):
        def on_step_end(self, args, state, control, **_):
            if state.global_step == 2:
                case.trainer.processing_class = chats.tokenizer(adds_bos=True)

    case.trainer.add_callback(Replace())
    watch = ftlab.watch(case.trainer, run_dir=tmp_path / "run")
    case.trainer.train()
    changed = [
        e.detail.get("changed") for e in watch.run.events if e.kind == "tokenizer"
    ]
    assert changed == [None, ["post-processor"]]
    watch.detach()


@pytest.mark.parametrize(("token", "other"), [("e", True), ("<new>", False)])
def test_it_is_told_whether_usual_words_have_other_ids(token, other):
    def change(each):
        each.add_tokens([AddedToken(token, normalized=False)])

    _, second = told(byte_level(), at=3, change=change)
    assert second.detail["other_ids"] is other


@pytest.mark.parametrize(("token", "other"), [("e", True), ("<new>", False)])
@pytest.mark.parametrize("limit", [2, 12])
def test_what_calls_leave_to_cut_and_pad_changes_no_words(token, other, limit):
    def change(each):
        each.add_tokens([AddedToken(token, normalized=False)])
        each(["Name", "a b"], padding="max_length", truncation=True, max_length=limit)

    tokenizer = byte_level()
    tokenizer("a", truncation=True, max_length=14)
    _, second = told(tokenizer, at=3, change=change)
    assert second.detail["other_ids"] is (other and limit > 2)


def test_the_step_before_is_told_at_which_it_was_looked_at():
    events = told(made(), 40, 33, lambda each: each.add_tokens(["c"]), interval=4)
    assert events[1].detail["looked"] == 32
