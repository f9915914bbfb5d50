"""ADP034."""

from ftlab.records.finding import Place
from ftlab.rules.adapter.misplaced_optimizer_state import MisplacedOptimizerState
from tests.runs import RunBuilder, found_by, only

FINE = {"states": 8, "moved": 4, "empty": 0, "swapped": {}}
ODD = {"states": 8, "misshapen": ["a", ""], "misshapen_count": 2}
SWAPPED = FINE | {"swapped": {"a.lora_B": "b.lora_B", "b.lora_B": "a.lora_B"}}


def check(*fits, loads=()):
    start = {"optimizer_fit": list(fits)}
    builder = RunBuilder().facts(model={"peft": {}, "start": start})
    builder.step().step(ops=[("load", "optimizer 0", each) for each in loads])
    return found_by(MisplacedOptimizerState(), builder.run)


def test_states_that_fit_are_fine():
    assert check(FINE, loads=[FINE, {}]) == ()


def test_states_of_other_shapes():
    finding = only(check(ODD), "error")
    assert finding.evidence == {"reason": "shape", "tensors": 2}
    assert finding.places == (Place("optimizer", "state"), Place("param", "a"))
    assert finding.message.startswith("before step 0: the states of 2 of 8 parameters")


def test_moments_of_other_tensors():
    finding = only(check(FINE, SWAPPED), reason="swapped")
    assert "a.lora_B has that of b.lora_B" in finding.message


def test_their_names_are_short_in_the_message():
    start = "base_model.model.model.layers"
    one, other = (f"{start}.{n}.q_proj.lora_B.default.weight" for n in "01")
    (finding,) = check(FINE | {"swapped": {one: other}})
    assert (
        "layers.0.q_proj.lora_B has that of layers.1.q_proj.lora_B" in finding.message
    )
    assert finding.places[1] == Place("param", one)


def test_groups_that_name_other_parameters():
    finding = only(check(FINE | {"misnamed": {"a": "b"}}), reason="names")
    assert finding.places[1] == Place("param", "a")


def test_a_state_that_is_loaded_in_the_run_is_judged_too():
    (finding,) = check(loads=[FINE, SWAPPED])
    assert finding.first_step == 1
    assert finding.message.startswith("step 1: ")
