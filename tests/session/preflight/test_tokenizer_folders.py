"""The files of the tokenizer, before a run."""

import ftlab
from ftlab.faults.builders.chats import sized, tokenizer
from ftlab.faults.builders.tiny import adamw
from ftlab.faults.builders.tokenizer_folders import MAP, change, loaded, looped


def stale(folder):
    change(folder / MAP, eos_token="</s>")


def told(checklist):
    return [each.code for each in checklist.failed]


def test_files_that_disagree_are_told_without_a_batch():
    made = loaded(tokenizer(), stale)
    assert "DAT073" in told(ftlab.preflight(sized(made), tokenizer=made))


def test_files_that_disagree_are_told_by_the_dry_steps():
    case = looped(loaded(tokenizer(), stale))
    settings = {"optimizer": adamw(case.model), "batches": case.batches}
    checklist = ftlab.preflight(case.model, tokenizer=case.tokenizer, **settings)
    assert "DAT073" in told(checklist)


def test_a_healthy_folder_is_quiet():
    case = looped(loaded(tokenizer()))
    settings = {"optimizer": adamw(case.model), "batches": case.batches}
    checklist = ftlab.preflight(case.model, tokenizer=case.tokenizer, **settings)
    assert not [each for each in told(checklist) if each.startswith("DAT07")]
