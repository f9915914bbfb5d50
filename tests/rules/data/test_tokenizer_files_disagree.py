"""DAT073: files of real folders that disagree, in each way, and that do not."""

import pytest

from ftlab.faults.builders.chats import TEMPLATE, chats, ids_of, labelled, tokenizer
from ftlab.faults.builders.tokenizer_folders import CONFIG, MAP, change, looped
from ftlab.faults.builders.trainers import words
from ftlab.records.finding import Place, Severity
from ftlab.rules.data.tokenizer_files_disagree import TokenizerFilesDisagree
from ftlab.session.scoring.record import watch_case
from tests.rules.data.folders import (
    is_left_out_without_a_folder_and_open_on_an_empty_run,
    made,
)
from tests.runs import only
from tests.versions import older_than

applies_flags = pytest.mark.skipif(
    older_than("transformers", "5"), reason="it applies the flags of some classes"
)


def test_it_is_about_runs_with_a_folder():
    rule = TokenizerFilesDisagree()
    assert is_left_out_without_a_folder_and_open_on_an_empty_run(rule)


def special_found(**named):
    _, findings = made(tokenizer(), lambda folder: change(folder / MAP, **named))
    return [e for e in findings if e.evidence["reason"] == "names-unlike"]


@pytest.mark.parametrize(
    ("name", "old"), [("eos_token", "</s>"), ("bos_token", "<turn>")]
)
def test_two_names_for_one_token_are_found_in_both_files(name, old):
    finding = only(special_found(**{name: old}), "warning")
    assert finding.message.startswith(f"{name} in base: tokenizer_config.json says")
    assert finding.places[:2] == (Place("file", CONFIG), Place("file", MAP))


def test_an_end_is_the_setting_of_the_generation_too():
    setting = Place("config", "generation_config.eos_token_id")
    assert setting in special_found(eos_token="</s>")[0].places
    assert setting not in special_found(bos_token="<turn>")[0].places


def test_one_name_is_healthy_however_it_is_written():
    assert special_found(eos_token="</turn>") == []
    assert special_found(eos_token={"content": "</turn>", "lstrip": False}) == []


def test_a_token_that_one_file_alone_names_is_no_contradiction():
    token = {"content": "</turn>", "special": True, "normalized": False}

    def edit(folder):
        change(folder / CONFIG, unk_token=None, added_tokens_decoder={"365": token})
        change(folder / MAP, unk_token="<pad>")

    loaded, findings = made(tokenizer(), edit)
    assert loaded.unk_token is None  # nobody reads it
    assert findings == ()


FILE = "chat_template.jinja"


def chat_codes(configured, text=TEMPLATE):
    def edit(folder):
        change(folder / CONFIG, chat_template=configured)
        (folder / FILE).unlink(missing_ok=True)
        if text:
            (folder / FILE).write_text(text)

    _, findings = made(tokenizer(), edit)
    return [(each.code, each.places) for each in findings]


def test_a_template_behind_another_one_is_found():
    places = Place("file", FILE), Place("file", CONFIG)
    assert chat_codes(TEMPLATE.replace("user", "human") + "{# mine #}") == [
        ("DAT073", places)
    ]


def test_the_same_text_in_both_or_in_one_is_healthy():
    assert chat_codes(TEMPLATE) == []
    assert chat_codes(TEMPLATE, text="") == []
    assert chat_codes(None) == []


def test_a_newline_at_the_end_of_a_file_is_no_difference():
    assert chat_codes(TEMPLATE, text=f"{TEMPLATE}\n") == []


def test_what_only_a_processor_reads_hides_nothing():
    def edit(folder):
        change(folder / "chat_template.json", chat_template="{{ 1 }}")

    assert made(tokenizer(), edit)[1] == ()


def mark_given(adds, **flags):
    return made(
        tokenizer(adds_bos=adds), lambda folder: change(folder / CONFIG, **flags)
    )


def mark_trained(loaded, texts, rule=None, **settings):
    case = looped(loaded, rows=labelled(ids_of(loaded, texts, **settings)))
    return watch_case(case, 4, rules=[rule or TokenizerFilesDisagree()]).report.findings


@applies_flags
def test_a_flag_alone_is_told_of_a_folder():
    (finding,) = mark_given(False, add_bos_token=True)[1]
    assert (finding.code, finding.place) == ("DAT073", Place("file", CONFIG))
    assert "the post-processor in tokenizer.json decides" in finding.message


@applies_flags
@pytest.mark.parametrize("flag", ["add_bos_token", "add_eos_token"])
def test_a_flag_that_is_off_and_has_no_effect_to_have_is_healthy(flag):
    assert mark_given(False, **{flag: False})[1] == ()


@applies_flags
def test_a_flag_that_is_heeded_is_healthy():
    assert mark_given(True, add_bos_token=True)[1] == ()


@applies_flags
def test_samples_without_the_mark_suffer_from_it():
    loaded, _ = mark_given(False, add_bos_token=True)
    texts = [talk[1]["content"] for talk in chats()]
    assert len(mark_trained(loaded, texts)) == 1


@applies_flags
def test_samples_that_have_the_mark_from_the_template_do_not():
    loaded, _ = mark_given(False, add_bos_token=True)
    assert mark_trained(loaded, chats()) == ()


@applies_flags
def test_marks_that_are_switched_off_and_are_there_are_found_in_samples():
    loaded, findings = mark_given(True, add_bos_token=False)
    if loaded("a")["input_ids"][0] != loaded.bos_token_id:
        pytest.skip("the flag is heeded")
    assert [each.code for each in findings] == ["DAT073"]
    texts = [talk[1]["content"] for talk in chats()]
    assert len(mark_trained(loaded, texts)) == 1
    assert mark_trained(loaded, texts, add_special_tokens=False) == ()


OLD, EOS = 362, 365


def eos_given(stops, configured=EOS):
    def edit(folder):
        change(folder / "generation_config.json", eos_token_id=stops)
        change(folder / "config.json", eos_token_id=configured)

    return made(tokenizer(), edit)


def test_an_end_at_which_nothing_stops_is_found():
    (finding,) = eos_given([OLD])[1]
    assert finding.code == "DAT073"
    assert Place("file", "generation_config.json") in finding.places
    assert "and not at the tokenizer's eos_token '</turn>' (365)" in finding.message


@pytest.mark.parametrize("stops", [EOS, [EOS], [OLD, EOS]])
def test_more_stops_are_healthy(stops):
    assert eos_given(stops)[1] == ()
    assert eos_given(stops, configured=OLD)[1] == ()


@pytest.mark.parametrize("configured", [OLD, EOS])
def test_the_models_configuration_does_not_count_where_the_other_has_none(configured):
    assert [each.code for each in eos_given(None, configured)[1]] == ["DAT073"]


def test_a_model_whose_generation_stops_there_is_healthy():
    loaded, _ = eos_given([OLD])
    rule = TokenizerFilesDisagree()
    assert watch_case(looped(loaded), 2, rules=[rule]).report.findings == ()


TURN = 364


def added_codes(**added):
    def edit(folder):
        change(folder / "added_tokens.json", **added)

    return [(each.code, each.place) for each in made(tokenizer(), edit)[1]]


def test_a_token_under_two_ids_is_found():
    assert added_codes(**{"<turn>": TURN + 1}) == [
        ("DAT073", Place("file", "tokenizer.json"))
    ]


def test_one_id_in_both_files_is_healthy():
    assert added_codes(**{"<turn>": TURN}) == []


def test_a_token_that_one_file_alone_lists_is_not_judged():
    assert added_codes(**{"<new>": 400}) == []


def test_a_configuration_that_lists_them_as_transformers_4_did_is_healthy():
    turn = {"content": "<turn>", "special": True, "normalized": False}

    def edit(folder):
        change(folder / CONFIG, added_tokens_decoder={str(TURN): turn})

    assert made(tokenizer(), edit)[1] == ()


ROWS = 366


def vocabulary_codes(added=(), pad="<pad>", rows=ROWS):
    first = tokenizer()
    first.add_tokens(list(added))
    first.add_special_tokens({"pad_token": pad})

    def edit(folder):
        change(folder / "config.json", vocab_size=rows)

    return made(first, edit)[1]


def test_a_padding_token_without_a_row_is_found():
    finding = only(vocabulary_codes(pad="<padding>"), place="file config.json")
    assert (finding.code, finding.severity) == ("DAT073", Severity.ERROR)


@pytest.mark.parametrize(("rows", "count"), [(128 - 64, 1), (128 - 63, 0)])
def test_a_vocabulary_of_another_model_is_found(rows, count):
    def edit(folder):
        change(folder / "config.json", vocab_size=rows)

    assert len(made(words(), edit)[1]) == count  # its special tokens are 0, 1 and 2


@pytest.mark.parametrize("rows", [ROWS, 512])
def test_a_row_for_each_id_and_more_are_healthy(rows):
    assert vocabulary_codes(rows=rows) == ()


def test_one_token_that_texts_never_hold_is_healthy():
    assert vocabulary_codes(added=["<image_soft_token>"]) == ()
