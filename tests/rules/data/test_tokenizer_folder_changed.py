"""DAT071."""

from ftlab.records.event import Event
from ftlab.records.finding import Place, Severity
from ftlab.records.folder_news import FolderNews
from ftlab.rules.data.tokenizer_folder_changed import TokenizerFolderChanged
from ftlab.rules.engine import Engine
from tests.rules.data.folders import (
    is_left_out_without_a_folder_and_open_on_an_empty_run,
)
from tests.runs import RunBuilder

RULE = TokenizerFolderChanged()


def found(*news):
    builder = RunBuilder().facts(model={"class": "Llama"})
    for step, each in enumerate([FolderNews("read", "base"), *news]):
        builder.run.append(Event("tokenizer-files", step, 0.0, "", each.as_json()))
    return Engine([RULE]).check(builder.run).findings


def change(parts, files=("tokenizer.json",)):
    return FolderNews("changed", "base", tuple(files), tuple(parts))


def test_it_is_about_runs_with_a_folder():
    assert is_left_out_without_a_folder_and_open_on_an_empty_run(RULE)


def test_files_that_give_another_tokenizer_than_the_runs_are_found():
    (finding,) = found(change(["merges", "switches"]))
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("file", "tokenizer.json")
    assert finding.first_step == 1
    assert finding.message.endswith("what is loaded now differs in merges")


def test_a_folder_that_rests_is_healthy():
    assert found() == ()


def test_files_that_hold_the_runs_own_tokenizer_are_healthy():
    assert found(change([])) == ()


def test_settings_that_give_no_other_ids_are_healthy():
    assert found(change(["switches", "padding and truncation"])) == ()


def test_files_that_were_put_back_are_healthy():
    assert found(change(["merges"]), change([], [])) == ()
