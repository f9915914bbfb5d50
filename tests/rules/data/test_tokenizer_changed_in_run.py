"""DAT070, on fingerprints of real tokenizers before and after a change."""

import json

import pytest
from tokenizers import AddedToken, Tokenizer, normalizers
from tokenizers.processors import TemplateProcessing

from ftlab.faults.builders.chats import tokenizer
from ftlab.probes.tokenizers.fingerprint import read_fingerprint
from ftlab.records.event import Event
from ftlab.records.finding import Place, Severity
from ftlab.rules.data.tokenizer_changed_in_run import TokenizerChangedInRun
from ftlab.rules.engine import Engine
from tests.rules.data.folders import (
    is_left_out_without_a_folder_and_open_on_an_empty_run,
)
from tests.runs import RunBuilder

RULE = TokenizerChangedInRun()


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
    return Engine([RULE]).check(builder.run).findings


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
    (finding,) = found(change)
    assert finding.severity is Severity.ERROR
    assert finding.place == Place("object", "tokenizer")
    assert finding.first_step == 1
    assert finding.evidence["parts"] == parts


def test_the_first_harmful_change_is_told():
    (finding,) = found(begun, lowered, turned)
    assert (finding.first_step, finding.evidence["parts"]) == (2, "normaliser")


def test_a_reload_of_what_is_on_disk_is_named_as_such():
    (finding,) = found(turned, reloaded=True, apart=[])
    assert finding.message.endswith("it is what its folder holds now")
    assert finding.evidence["reason"] == "reloaded"


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
    (finding,) = found(as_a_mark, other_ids=True)
    assert finding.evidence["parts"] == "added tokens"
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
