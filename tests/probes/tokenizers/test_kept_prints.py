"""Fingerprints beside checkpoints, of real saves."""

import copy
import shutil

import pytest
import torch
from tokenizers.processors import TemplateProcessing
from transformers import AutoTokenizer

import ftlab
from ftlab.faults.builders import chats
from ftlab.probes.tokenizers.fingerprint import read_fingerprint
from ftlab.probes.tokenizers.kept_print import trained_with
from ftlab.probes.tokenizers.kept_prints import KeptPrints
from ftlab.records.event import Event
from ftlab.records.fingerprint import TRAINED_WITH
from ftlab.records.folder_news import FolderNews
from tests.probes.recording import Recording


@pytest.fixture
def tokenizer():
    return chats.tokenizer()


def recorded(tokenizer, save, model=None):
    """Train a step, save, and return what was told of folders."""
    model = chats.sized(chats.tokenizer()) if model is None else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    settings = {"probes": [KeptPrints()], "tokenizer": tokenizer}
    with Recording(model, optimizer, **settings) as recording:
        ids = torch.tensor([[5, 6, 7]])
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
        save(model)
    events = [each for each in recording.records if isinstance(each, Event)]
    return [FolderNews.from_json(each.detail) for each in events]


def test_it_lies_beside_a_model_and_beside_a_tokenizer(tokenizer, tmp_path):
    print_ = read_fingerprint(tokenizer)

    def save(model):
        model.save_pretrained(tmp_path / "model")
        tokenizer.save_pretrained(save_directory=tmp_path / "tokenizer")

    recorded(tokenizer, save)
    assert trained_with(tmp_path / "model") == print_
    assert trained_with(tmp_path / "tokenizer") == print_


def test_what_was_saved_last_is_read_back_at_the_end(tokenizer, tmp_path):
    def save(model):
        model.save_pretrained(tmp_path / "mine")
        tokenizer.save_pretrained(tmp_path / "mine")

    assert recorded(tokenizer, save) == [FolderNews("read back", "mine")]


def test_a_look_at_the_run_before_its_end_reads_nothing_back(tokenizer, tmp_path):
    probe = KeptPrints()
    model = chats.sized(tokenizer)
    with Recording(model, probes=[probe], tokenizer=tokenizer) as recording:
        tokenizer.save_pretrained(tmp_path)
        assert list(probe.on_unfinished(0)) == []
    events = [each for each in recording.records if isinstance(each, Event)]
    assert [each.kind for each in events] == ["tokenizer-files"]


def test_a_save_that_lost_something_is_told_at_the_end(tokenizer, tmp_path):
    def save(model):
        tokenizer.save_pretrained(tmp_path / "mine")
        other = AutoTokenizer.from_pretrained(tmp_path / "mine")
        marks = [("<s>", other.bos_token_id)]
        other.backend_tokenizer.post_processor = TemplateProcessing(
            single="<s> $A", special_tokens=marks
        )
        other.backend_tokenizer.save(str(tmp_path / "mine" / "tokenizer.json"))

    (news,) = recorded(tokenizer, save)
    assert (news.matter, news.parts) == ("read back", ("post-processor",))


def test_another_tokenizer_in_the_place_of_the_runs_is_told(tokenizer, tmp_path):
    other = copy.deepcopy(tokenizer)
    other.add_tokens(["<new>"])

    def save(model):
        other.save_pretrained(tmp_path / "elsewhere")
        model.save_pretrained(tmp_path / "mine")
        other.save_pretrained(tmp_path / "mine")

    (saved,) = recorded(tokenizer, save)
    assert (saved.matter, saved.folder) == ("saved", "mine")
    assert saved.parts == ("vocabulary", "added tokens")
    assert not (tmp_path / "elsewhere" / TRAINED_WITH).exists()
    assert trained_with(tmp_path / "mine") == read_fingerprint(tokenizer)


def test_a_copy_that_is_the_same_is_no_other(tokenizer, tmp_path):
    def save(model):
        model.save_pretrained(tmp_path)
        copy.deepcopy(tokenizer).save_pretrained(tmp_path)

    (back,) = recorded(tokenizer, save)
    assert (back.matter, back.parts) == ("read back", ())


def test_without_a_tokenizer_nothing_is_written(tmp_path):
    for given in (None, object()):
        assert recorded(given, lambda model: model.save_pretrained(tmp_path)) == []
    assert not (tmp_path / TRAINED_WITH).exists()


def test_a_checkpoint_that_is_gone_or_has_no_tokenizer_is_not_read_back(
    tokenizer, tmp_path
):
    def save(model):
        tokenizer.save_pretrained(tmp_path / "gone")
        shutil.rmtree(tmp_path / "gone")

    assert recorded(tokenizer, save) == []
    assert recorded(tokenizer, lambda model: model.save_pretrained(tmp_path)) == []


def test_a_trainers_checkpoints_have_it_and_take_it_along(tokenizer, tmp_path):
    rows = chats.labelled(chats.ids_of(tokenizer, chats.chats()))
    case = chats.trained_on(
        tokenizer,
        rows,
        chats.padded_by_length(tokenizer),
        max_steps=4,
        save_strategy="steps",
        save_steps=1,
        save_total_limit=2,
        output_dir=str(tmp_path / "out"),
    )
    watch = ftlab.watch(case.trainer, run_dir=tmp_path / "run")
    case.trainer.train()
    kept = sorted(each.name for each in (tmp_path / "out").iterdir())
    assert kept == ["checkpoint-3", "checkpoint-4"]
    print_ = ftlab.fingerprint(tokenizer)
    for name in kept:
        assert ftlab.fingerprint(tmp_path / "out" / name).trained == print_.fingerprint
    case.trainer.save_model(str(tmp_path / "final"))
    assert trained_with(tmp_path / "final") == print_.fingerprint
    watch.detach()
    case.trainer.save_model(str(tmp_path / "later"))
    assert trained_with(tmp_path / "later") is None
