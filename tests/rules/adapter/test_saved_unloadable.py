"""ADP021."""

import pytest

from ftlab.records.finding import Place
from ftlab.rules.adapter.saved_unloadable import SavedUnloadable
from tests.runs import RunBuilder, found_by, only

WRAPPED = "model.layers.0._orig_mod"
RENAMED = {"keys": 8, "renamed": 4, "example": f"{WRAPPED}.q.weight"}


def check(saver="PeftModel", peft=("default",), renamed=RENAMED):
    saving = {"wrapped": [WRAPPED], "renamed": renamed, "saver": saver}
    builder = RunBuilder().facts(
        model={"peft": {key: {} for key in peft}, "saving": saving}
    )
    return found_by(SavedUnloadable(), builder.run)


def test_says_how_many_keys_and_which_modules():
    (finding,) = check()
    assert "4 of 8 keys with '_orig_mod' in them" in finding.message
    assert finding.places == (
        Place("file", "adapter keys"),
        Place("module", WRAPPED),
    )


def test_a_whole_model_is_another_file():
    only(check("PreTrainedModel", peft=()), place="file model.safetensors")


@pytest.mark.parametrize("renamed", [{}, {"keys": 8, "renamed": 0, "example": ""}])
def test_clean_keys_are_fine(renamed):
    assert check(renamed=renamed) == ()


def test_a_model_of_ones_own_is_left_alone():
    assert check("Module", peft=()) == ()


def wrapped(hidden="inner", trainer="Trainer", **args):
    builder = RunBuilder().facts(
        model={"class": "Wrapped", "saving": {"hidden": hidden}},
        training={"trainer_class": trainer, "args": args} if trainer else {},
    )
    return found_by(SavedUnloadable(), builder.run)


def test_names_the_inner_model():
    finding = only(wrapped(), place="module inner")
    assert "the model of the Trainer is a Wrapped" in finding.message


@pytest.mark.parametrize("case", [{"hidden": ""}, {"trainer": ""}])
def test_takes_a_wrapper_and_a_trainer(case):
    assert wrapped(**case) == ()


def test_is_noted_only_where_no_checkpoint_is_planned():
    only(wrapped(save_strategy="steps"), "warning")
    only(wrapped(save_strategy="no"), "info")


SAVE = {"kind": "model", "folder": "out", "beside": True, "base_changed": True}


def saving(*saves):
    builder = RunBuilder().facts(model={"peft": {}})
    for save in saves:
        builder.step(ops=[("save", "model", save)])
    return found_by(SavedUnloadable(), builder.run)


def test_the_last_of_several_saves_is_named():
    finding = only(saving(SAVE, SAVE | {"folder": "last"}), "warning", steps=(0, 1))
    assert finding.place == Place("call", "save_pretrained")
    assert "last" in finding.message


@pytest.mark.parametrize("lacks", ["beside", "base_changed"])
def test_a_folder_of_its_own_and_a_base_as_it_was_are_fine(lacks):
    save = {name: value for name, value in SAVE.items() if name != lacks}
    assert saving(save) == ()
