"""DAT072."""

import pytest

from ftlab.records.event import Event
from ftlab.records.finding import Place, Severity
from ftlab.records.folder_news import FolderNews
from ftlab.rules.data.checkpoint_of_other_tokenizer import CheckpointOfOtherTokenizer
from ftlab.rules.engine import Engine
from tests.rules.data.folders import (
    is_left_out_without_a_folder_and_open_on_an_empty_run,
)
from tests.runs import RunBuilder

RULE = CheckpointOfOtherTokenizer()


def found(*told):
    builder = RunBuilder().facts(model={"class": "Llama"})
    for matter, folder, *parts in told:
        news = FolderNews(matter, folder, parts=tuple(parts))
        builder.run.append(Event("tokenizer-files", 3, 0.0, "", news.as_json()))
    return Engine([RULE]).check(builder.run).findings


def test_it_is_about_runs_that_save_a_tokenizer():
    assert is_left_out_without_a_folder_and_open_on_an_empty_run(RULE)
    assert found(("read", "base")) == ()


def test_another_tokenizer_beside_the_model_is_found():
    (finding,) = found(("saved", "checkpoint-2", "vocabulary", "chat template"))
    assert finding.severity is Severity.ERROR
    assert finding.place == Place("file", "checkpoint-2")
    assert finding.message.endswith("trained with, in vocabulary")
    assert finding.cause == "Another tokenizer was saved in the folder."


@pytest.mark.parametrize("part", ["post-processor", "special tokens", "added tokens"])
def test_what_saving_has_lost_is_found(part):
    (finding,) = found(("read back", "checkpoint-2", part))
    assert finding.evidence["reason"] == "read back"
    assert found(("saved", "checkpoint-2", part)) == ()


@pytest.mark.parametrize(
    "part", ["chat template", "padding and truncation", "switches", "decoder"]
)
def test_what_gives_no_other_ids_is_healthy(part):
    assert found(("saved", "a", part), ("read back", "a", part)) == ()


def test_what_came_back_as_it_was_is_healthy():
    assert found(("read back", "checkpoint-2")) == ()


def test_each_folder_is_found_once():
    twice = [("saved", "a", "merges")] * 2
    assert len(found(*twice, ("read back", "b", "merges"))) == 2
