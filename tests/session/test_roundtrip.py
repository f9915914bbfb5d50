"""`ftlab.roundtrip`: what it is given, and what it leaves."""

import pytest
import torch

import ftlab
from ftlab.experiments.deployment.saved_files import SavedFiles
from ftlab.faults.builders.chats import sized, tokenizer
from ftlab.records.errors import BadValueError
from tests.experiments.set_ups import lora


@pytest.fixture(scope="module")
def words():
    return tokenizer()


@pytest.fixture
def model(words):
    return sized(words)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"prompts": []}, "prompts is empty"),
        ({"prompts": [7]}, "prompts has an int"),
        ({"prompts": ""}, "the prompt '' has no tokens"),
        ({"tokens": 0}, "tokens=0; it must be at least 1"),
        ({"bits": 5}, "bits=5; allowed are 4, 8 and None"),
        ({"served": "localhost:8000"}, "pass an address"),
        ({"saved": "no/such"}, "saved='no/such' is no folder"),
        ({"only": "no-such"}, "there is no such station"),
        ({"tokenizer": "gpt2"}, "tokenizer is a str"),
        ({"model": torch.nn.Linear(1, 1)}, "model is a Linear"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_bad_values_are_told(words, model, given, message):
    usual = {"model": model, "tokenizer": words, "prompts": "the year"}
    with pytest.raises(BadValueError, match=message):
        ftlab.roundtrip(**(usual | given))


def test_a_conversation_needs_a_template(words, model):
    bare = tokenizer(template="")
    bare.chat_template = None
    with pytest.raises(BadValueError, match="cannot render a conversation"):
        ftlab.roundtrip(model, bare, [{"role": "user", "content": "the year"}])


def test_one_conversation_is_one_prompt(words, model):
    talk = [{"role": "user", "content": "the year"}]
    trip = ftlab.roundtrip(model, words, talk, only="saved-tokenizer")
    assert trip[0].says == "the same tokens of 1 prompt"


def test_everything_stays_as_it_was(words, model):
    model.train()
    hooks = [len(each._forward_hooks) for each in model.modules()]
    before = {name: each.clone() for name, each in model.state_dict().items()}
    dice = torch.get_rng_state()
    trip = ftlab.roundtrip(model, words, "the year of a river", tokens=2)
    assert trip.ok
    assert torch.equal(torch.get_rng_state(), dice)
    assert all(each.training for each in model.modules())
    assert [len(each._forward_hooks) for each in model.modules()] == hooks
    assert all(torch.equal(t, before[n]) for n, t in model.state_dict().items())


def test_an_interrupt_keeps_what_is_known(words, model, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(SavedFiles, "run", stop)
    trip = ftlab.roundtrip(model, words, "the year", tokens=2)
    assert trip["saved-tokenizer"].state == "holds"
    assert trip["saved-files"].says == "interrupted before it was tried"
    assert trip["served"].state == "cannot be decided"


def test_what_a_station_raises_is_its_outcome(words, model, monkeypatch):
    def fail(*_):
        msg = "no room"
        raise OSError(msg)

    monkeypatch.setattr(SavedFiles, "run", fail)
    (outcome,) = ftlab.roundtrip(model, words, "the year", only="RTP002")
    assert outcome.state == "cannot be decided"
    assert "OSError" in outcome.says


def test_the_first_station_that_differs_is_named(words, tmp_path):
    live = lora(sized(words), init_lora_weights=False)
    live.save_pretrained(tmp_path / "out")
    for module in live.modules():
        if isinstance(vars(module).get("scaling"), dict):
            module.scaling["default"] *= 2
    trip = ftlab.roundtrip(
        live, words, "the year", saved=tmp_path / "out", tokens=2, only="saved-files"
    )
    assert trip.first is trip["saved-files"]
    assert "first differs at saved-files" in repr(trip)
    (finding,) = trip.findings
    assert finding.code == "RTP002"
    assert "files" in str(ftlab.explain(finding.code))
    assert trip.table()["likeliest token"].notna().all()
