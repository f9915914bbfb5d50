"""DAT073."""

import pytest

from ftlab.faults.chats import tokenizer
from ftlab.faults.tokenizer_folders import CONFIG, MAP, change
from ftlab.records.finding import Place, Severity
from ftlab.rules.data.special_token_named_twice import SpecialTokenNamedTwice
from tests.rules.data.folders import (
    is_left_out_without_a_folder_and_open_on_an_empty_run,
    made,
)


def found(**named):
    _, findings = made(tokenizer(), lambda folder: change(folder / MAP, **named))
    return [each for each in findings if each.code == "DAT073"]


def test_it_is_about_runs_with_a_folder():
    assert is_left_out_without_a_folder_and_open_on_an_empty_run(
        SpecialTokenNamedTwice()
    )


@pytest.mark.parametrize(
    ("name", "old"), [("eos_token", "</s>"), ("bos_token", "<turn>")]
)
def test_two_names_for_one_token_are_found_in_both_files(name, old):
    (finding,) = found(**{name: old})
    assert finding.severity is Severity.WARNING
    assert finding.message.startswith(f"{name} in base: tokenizer_config.json says")
    assert finding.places[:2] == (Place("file", CONFIG), Place("file", MAP))


def test_an_end_is_the_setting_of_the_generation_too():
    setting = Place("config", "generation_config.eos_token_id")
    assert setting in found(eos_token="</s>")[0].places
    assert setting not in found(bos_token="<turn>")[0].places


def test_one_name_is_healthy_however_it_is_written():
    assert found(eos_token="</turn>") == []
    assert found(eos_token={"content": "</turn>", "lstrip": False}) == []


def test_a_token_that_one_file_alone_names_is_no_contradiction():
    token = {"content": "</turn>", "special": True, "normalized": False}

    def edit(folder):
        change(folder / CONFIG, unk_token=None, added_tokens_decoder={"365": token})
        change(folder / MAP, unk_token="<pad>")

    loaded, findings = made(tokenizer(), edit)
    assert loaded.unk_token is None  # nobody reads it
    assert findings == ()
