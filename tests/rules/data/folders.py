"""Real folders of tokenizers for the rules about files."""

import ftlab
from ftlab.faults.builders.tokenizer_folders import folder_of, loaded
from tests.runs import RunBuilder, healthy_lora, report_by


def made(tokenizer, edit=lambda _: None):
    """Return a tokenizer that was loaded from a folder, and what rules find there."""
    given = loaded(tokenizer, edit)
    return given, ftlab.tokenizer_files(folder_of(given)).findings


def is_left_out_without_a_folder_and_open_on_an_empty_run(rule):
    report = report_by(rule, healthy_lora().run)
    assert report.findings == report.not_checked == ()
    report = report_by(rule, RunBuilder().run)
    assert [each.code for each in report.not_checked] == [rule.code]
    return True
