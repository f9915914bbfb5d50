"""DAT070."""

import json

import pytest
from tokenizers import AddedToken, Tokenizer, normalizers
from tokenizers.processors import TemplateProcessing

from ftlab.faults.builders.chats import tokenizer
from ftlab.probes.tokenizers.fingerprint import read_fingerprint
from ftlab.records.event import Event
from ftlab.records.finding import Place, Severity
from ftlab.records.folder_news import FolderNews
from ftlab.rules.data.tokenizer_changed import TokenizerChanged
from tests.rules.data.folders import (
    is_left_out_without_a_folder_and_open_on_an_empty_run,
)
from tests.runs import RunBuilder, found_by, only

RULE = TokenizerChanged()


def found(*changes, **detail):
    """Tell a tokenizer, and again after each change."""
    made, before = tokenizer(), None
    builder = RunBuilder().facts(model={"class": "Llama"})
    for step, change in enumerate([lambda _: None, *changes]):
        change(made)
        now = read_fingerprint(made)
        told = {"digest": now.digest, "fingerprint": now.as_json()}
        if before is not None:
            told |= {"changed": list(before.differing(now))} | detail
        builder.run.append(Event("tokenizer", step, 0.0, "", told))
        before = now
    return found_by(RULE, builder.run)


def turned(made):
    told = json.loads(made.backend_tokenizer.to_str())
    words = told["model"]["vocab"]
    words["a"], words["b"] = words["b"], words["a"]
    made._tokenizer = Tokenizer.from_str(json.dumps(told))


def lowered(made):
    made.backend_tokenizer.normalizer = normalizers.Lowercase()


def ended_otherwise(made):
    made.eos_token = "</s>"


def begun(made):
    made.backend_tokenizer.post_processor = TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", made.bos_token_id)]
    )


def test_it_is_about_runs_with_a_tokenizer():
    assert is_left_out_without_a_folder_and_open_on_an_empty_run(RULE)


@pytest.mark.parametrize(
    ("change", "parts"),
    [(turned, "vocabulary"), (lowered, "normaliser"), (ended_otherwise, "eos_token")],
)
def test_what_gives_other_ids_is_found_with_its_step(change, parts):
    finding = only(found(change), "error", "object tokenizer", parts=parts)
    assert finding.first_step == 1


def test_the_first_harmful_change_is_told():
    (finding,) = found(begun, lowered, turned)
    assert (finding.first_step, finding.evidence["parts"]) == (2, "normaliser")


def test_a_reload_of_what_is_on_disk_is_named_as_such():
    finding = only(found(turned, reloaded=True, apart=[]), reason="reloaded")
    assert finding.message.endswith("it is what its folder holds now")


def test_one_tokenizer_for_all_steps_is_healthy():
    assert found() == ()


@pytest.mark.parametrize(
    "change",
    [
        begun,
        lambda made: made.add_tokens(["<new>", "<newer>"]),
        lambda made: setattr(made, "padding_side", "left"),
        lambda made: setattr(made, "pad_token", "</turn>"),
        lambda made: setattr(made, "chat_template", "{{ messages }}"),
        lambda made: setattr(made, "clean_up_tokenization_spaces", True),
    ],
)
def test_what_leaves_the_ids_of_texts_as_they_were_is_healthy(change):
    assert found(change) == ()


def test_pieces_that_move_together_with_added_tokens_are_not_told_apart():
    def both(made):
        turned(made)
        made.add_tokens(["<new>"])

    assert found(both) == ()


def as_a_mark(made):
    made.add_tokens([AddedToken("a", normalized=False)])


def test_a_piece_that_became_an_added_token_gives_words_other_ids():
    only(found(as_a_mark, other_ids=True), parts="added tokens")
    assert found(as_a_mark, other_ids=False) == ()


@pytest.mark.parametrize(("looked", "said"), [(-3, "step 1:"), (0, "step 1:")])
def test_the_step_is_told(looked, said):
    assert found(turned, looked=looked)[0].message.startswith(said)


def test_the_steps_between_two_looks_are_told():
    assert found(begun, begun, begun, turned, looked=1)[0].message.startswith(
        "steps 1 to 4:"
    )


def test_the_folder_is_named():
    (finding,) = found(turned, reloaded=True, folder="old")
    assert finding.message.endswith("; it is what old holds now")


def found_changed(*news):
    builder = RunBuilder().facts(model={"class": "Llama"})
    for step, each in enumerate([FolderNews("read", "base"), *news]):
        builder.run.append(Event("tokenizer-files", step, 0.0, "", each.as_json()))
    return found_by(RULE, builder.run)


def change(parts, files=("tokenizer.json",)):
    return FolderNews("changed", "base", tuple(files), tuple(parts))


def test_it_is_about_runs_with_a_folder():
    assert is_left_out_without_a_folder_and_open_on_an_empty_run(RULE)


def test_files_that_give_another_tokenizer_than_the_runs_are_found():
    finding = only(found_changed(change(["merges", "switches"])), "warning")
    assert finding.place == Place("file", "tokenizer.json")
    assert finding.first_step == 1
    assert finding.message.endswith("what is loaded now differs in merges")


def test_a_folder_that_rests_is_healthy():
    assert found_changed() == ()


def test_files_that_hold_the_runs_own_tokenizer_are_healthy():
    assert found_changed(change([])) == ()


def test_settings_that_give_no_other_ids_are_healthy():
    assert found_changed(change(["switches", "padding and truncation"])) == ()


def test_files_that_were_put_back_are_healthy():
    assert found_changed(change(["merges"]), change([], [])) == ()


def found_tokenizer(*told):
    builder = RunBuilder().facts(model={"class": "Llama"})
    for matter, folder, *parts in told:
        news = FolderNews(matter, folder, parts=tuple(parts))
        builder.run.append(Event("tokenizer-files", 3, 0.0, "", news.as_json()))
    return found_by(RULE, builder.run)


def test_it_is_about_runs_that_save_a_tokenizer():
    assert is_left_out_without_a_folder_and_open_on_an_empty_run(RULE)
    assert found_tokenizer(("read", "base")) == ()


def test_another_tokenizer_beside_the_model_is_found():
    (finding,) = found_tokenizer(
        ("saved", "checkpoint-2", "vocabulary", "chat template")
    )
    assert finding.severity is Severity.ERROR
    assert finding.place == Place("file", "checkpoint-2")
    assert finding.message.endswith("trained with, in vocabulary")
    assert finding.cause == "Another tokenizer was saved in the folder."


@pytest.mark.parametrize("part", ["post-processor", "special tokens", "added tokens"])
def test_what_saving_has_lost_is_found(part):
    only(found_tokenizer(("read back", "checkpoint-2", part)), reason="read back")
    assert found_tokenizer(("saved", "checkpoint-2", part)) == ()


@pytest.mark.parametrize(
    "part", ["chat template", "padding and truncation", "switches", "decoder"]
)
def test_what_gives_no_other_ids_is_healthy(part):
    assert found_tokenizer(("saved", "a", part), ("read back", "a", part)) == ()


def test_what_came_back_as_it_was_is_healthy():
    assert found_tokenizer(("read back", "checkpoint-2")) == ()


def test_each_folder_is_found_once():
    twice = [("saved", "a", "merges")] * 2
    assert len(found_tokenizer(*twice, ("read back", "b", "merges"))) == 2
