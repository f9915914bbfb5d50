"""ADP021."""

import pytest

from ftlab.records.finding import Place
from ftlab.rules.adapter.wrapper_name_in_keys import WrapperNameInKeys
from ftlab.rules.engine import Engine
from tests.runs import RunBuilder, healthy_lora

WRAPPED = "model.layers.0._orig_mod"
RENAMED = {"keys": 8, "renamed": 4, "example": f"{WRAPPED}.q.weight"}


def check(saver="PeftModel", peft=("default",), renamed=RENAMED):
    saving = {"wrapped": [WRAPPED], "renamed": renamed, "saver": saver}
    builder = RunBuilder().facts(
        model={"peft": {key: {} for key in peft}, "saving": saving}
    )
    return Engine([WrapperNameInKeys()]).check(builder.run).findings


def test_is_quiet_on_a_healthy_run():
    assert Engine([WrapperNameInKeys()]).check(healthy_lora().run).findings == ()


def test_says_how_many_keys_and_which_modules():
    (finding,) = check()
    assert "4 of 8 keys with '_orig_mod' in them" in finding.message
    assert finding.places == (
        Place("file", "adapter keys"),
        Place("module", WRAPPED),
    )


def test_a_whole_model_is_another_file():
    (finding,) = check("PreTrainedModel", peft=())
    assert finding.place == Place("file", "model.safetensors")


@pytest.mark.parametrize("renamed", [{}, {"keys": 8, "renamed": 0, "example": ""}])
def test_clean_keys_are_fine(renamed):
    assert check(renamed=renamed) == ()


def test_a_model_of_ones_own_is_left_alone():
    assert check("Module", peft=()) == ()
