"""DAT074."""

from ftlab.faults.chats import TEMPLATE, tokenizer
from ftlab.faults.tokenizer_folders import CONFIG, change
from ftlab.records.finding import Place
from ftlab.rules.data.chat_template_hidden import ChatTemplateHidden
from tests.rules.data.folders import (
    is_left_out_without_a_folder_and_open_on_an_empty_run,
    made,
)

FILE = "chat_template.jinja"


def codes(configured, text=TEMPLATE):
    def edit(folder):
        change(folder / CONFIG, chat_template=configured)
        (folder / FILE).unlink(missing_ok=True)
        if text:
            (folder / FILE).write_text(text)

    _, findings = made(tokenizer(), edit)
    return [(each.code, each.places) for each in findings]


def test_it_is_about_runs_with_a_folder():
    assert is_left_out_without_a_folder_and_open_on_an_empty_run(ChatTemplateHidden())


def test_a_template_behind_another_one_is_found():
    places = Place("file", FILE), Place("file", CONFIG)
    assert codes(TEMPLATE.replace("user", "human") + "{# mine #}") == [
        ("DAT074", places)
    ]


def test_the_same_text_in_both_or_in_one_is_healthy():
    assert codes(TEMPLATE) == []
    assert codes(TEMPLATE, text="") == []
    assert codes(None) == []


def test_a_newline_at_the_end_of_a_file_is_no_difference():
    assert codes(TEMPLATE, text=f"{TEMPLATE}\n") == []


def test_what_only_a_processor_reads_hides_nothing():
    def edit(folder):
        change(folder / "chat_template.json", chat_template="{{ 1 }}")

    assert made(tokenizer(), edit)[1] == ()
