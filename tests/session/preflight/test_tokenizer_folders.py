"""The files of the tokenizer, before a run."""

import ftlab
from ftlab.faults.builders.chats import sized, tokenizer
from ftlab.faults.builders.tiny import adamw
from ftlab.faults.builders.tokenizer_folders import MAP, change, loaded, looped
from tests.versions import older_than

STALE_WINS = not older_than("transformers", "5")
"""The older one lists added tokens in its configuration, which is then heeded alone."""


def stale(folder):
    change(folder / MAP, eos_token="</s>")


def told(checklist):
    return [each.code for each in checklist.failed]


def test_files_that_disagree_are_told_without_a_batch():
    made = loaded(tokenizer(), stale)
    codes = told(ftlab.preflight(sized(made), tokenizer=made))
    assert ("DAT073" in codes) is STALE_WINS


def test_files_that_disagree_are_told_by_the_dry_steps():
    case = looped(loaded(tokenizer(), stale))
    settings = {"optimizer": adamw(case.model), "batches": case.batches}
    checklist = ftlab.preflight(case.model, tokenizer=case.tokenizer, **settings)
    assert ("DAT073" in told(checklist)) is STALE_WINS


def test_a_healthy_folder_is_quiet():
    case = looped(loaded(tokenizer()))
    settings = {"optimizer": adamw(case.model), "batches": case.batches}
    checklist = ftlab.preflight(case.model, tokenizer=case.tokenizer, **settings)
    assert not [each for each in told(checklist) if each.startswith("DAT07")]
