"""DAT075."""

import pytest

from ftlab.faults.chats import chats, ids_of, labelled, tokenizer
from ftlab.faults.tokenizer_folders import CONFIG, change, looped
from ftlab.records.finding import Place
from ftlab.rules.data.mark_flag_idle import MarkFlagIdle
from ftlab.session.scoring.record import watch_case
from tests.rules.data.folders import (
    is_left_out_without_a_folder_and_open_on_an_empty_run,
    made,
)
from tests.versions import older_than

pytestmark = pytest.mark.skipif(
    older_than("transformers", "5"), reason="it applies the flags of some classes"
)


def given(adds, **flags):
    return made(
        tokenizer(adds_bos=adds), lambda folder: change(folder / CONFIG, **flags)
    )


def trained(loaded, texts, rule=None, **settings):
    case = looped(loaded, rows=labelled(ids_of(loaded, texts, **settings)))
    return watch_case(case, 4, rules=[rule or MarkFlagIdle()]).report.findings


def test_it_is_about_runs_with_a_folder():
    assert is_left_out_without_a_folder_and_open_on_an_empty_run(MarkFlagIdle())


def test_a_flag_alone_is_told_of_a_folder():
    (finding,) = given(False, add_bos_token=True)[1]
    assert (finding.code, finding.place) == ("DAT075", Place("file", CONFIG))
    assert "the post-processor in tokenizer.json decides" in finding.message


@pytest.mark.parametrize("flag", ["add_bos_token", "add_eos_token"])
def test_a_flag_that_is_off_and_has_no_effect_to_have_is_healthy(flag):
    assert given(False, **{flag: False})[1] == ()


def test_a_flag_that_is_heeded_is_healthy():
    assert given(True, add_bos_token=True)[1] == ()


def test_samples_without_the_mark_suffer_from_it():
    loaded, _ = given(False, add_bos_token=True)
    texts = [talk[1]["content"] for talk in chats()]
    assert len(trained(loaded, texts)) == 1


def test_samples_that_have_the_mark_from_the_template_do_not():
    loaded, _ = given(False, add_bos_token=True)
    assert trained(loaded, chats()) == ()


def test_marks_that_are_switched_off_and_are_there_are_found_in_samples():
    loaded, findings = given(True, add_bos_token=False)
    if loaded("a")["input_ids"][0] != loaded.bos_token_id:
        pytest.skip("the flag is heeded")
    assert [each.code for each in findings] == ["DAT075"]
    texts = [talk[1]["content"] for talk in chats()]
    assert len(trained(loaded, texts)) == 1
    assert trained(loaded, texts, add_special_tokens=False) == ()
