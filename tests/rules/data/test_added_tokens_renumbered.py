"""DAT077."""

from ftlab.faults.chats import tokenizer
from ftlab.faults.tokenizer_folders import CONFIG, change
from ftlab.records.finding import Place
from ftlab.rules.data.added_tokens_renumbered import AddedTokensRenumbered
from tests.rules.data.folders import (
    is_left_out_without_a_folder_and_open_on_an_empty_run,
    made,
)

TURN = 364


def codes(**added):
    def edit(folder):
        change(folder / "added_tokens.json", **added)

    return [(each.code, each.place) for each in made(tokenizer(), edit)[1]]


def test_it_is_about_runs_with_a_folder():
    assert is_left_out_without_a_folder_and_open_on_an_empty_run(
        AddedTokensRenumbered()
    )


def test_a_token_under_two_ids_is_found():
    assert codes(**{"<turn>": TURN + 1}) == [
        ("DAT077", Place("file", "tokenizer.json"))
    ]


def test_one_id_in_both_files_is_healthy():
    assert codes(**{"<turn>": TURN}) == []


def test_a_token_that_one_file_alone_lists_is_not_judged():
    assert codes(**{"<new>": 400}) == []


def test_a_configuration_that_lists_them_as_transformers_4_did_is_healthy():
    turn = {"content": "<turn>", "special": True, "normalized": False}

    def edit(folder):
        change(folder / CONFIG, added_tokens_decoder={str(TURN): turn})

    assert made(tokenizer(), edit)[1] == ()
