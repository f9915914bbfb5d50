"""ADP033."""

import pytest

from ftlab.records.finding import Place
from ftlab.rules.adapter.state_not_copied import StateNotCopied
from tests.runs import RunBuilder, found_by, only

UPDATE = ("step", "optimizer 0", {})


def load(**detail):
    given = {"adapter": "", "keys": 8, "aliased": 8, "of": 8, "fresh": False}
    return ("load", "model", given | detail)


def check(*ops):
    builder = RunBuilder().facts(model={"peft": {}}).step(ops=ops)
    return found_by(StateNotCopied(), builder.run)


def test_what_is_put_back_is_the_models_own_memory():
    finding = only(check(UPDATE, load(), load(keys=9)), "error", "call load_state_dict")
    assert finding.evidence == {"reason": "own-memory", "tensors": 8}
    assert "load_state_dict was given the model's own memory" in finding.message


@pytest.mark.parametrize(
    "ops",
    [
        (load(),),
        (load(), UPDATE),
        (UPDATE, load(fresh=True)),
        (UPDATE, load(aliased=0)),
        (UPDATE, load(aliased=1)),
    ],
)
def test_copies_states_of_now_and_loads_before_training_are_fine(ops):
    assert check(*ops) == ()


def test_a_file_gets_the_weights_of_now_under_the_name_of_older_ones():
    held = {"stale": 8, "updates": 5, "file": "best.pt"}
    finding = only(check(UPDATE, ("write", "held state", held)), "error")
    assert finding.evidence["reason"] == "written-late"
    assert Place("file", "best.pt") in finding.places
    assert "best.pt has 8 trainable tensors" in finding.message
    assert "taken 5 updates before" in finding.message
