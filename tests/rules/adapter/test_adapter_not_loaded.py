"""ADP026."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.rules.adapter.adapter_not_loaded import AdapterNotLoaded
from ftlab.rules.reasons.not_loaded_causes import CAUSES
from tests.runs import RunBuilder, found_by, only

B = "model.q.lora_B.default.weight"


def check(start, step=0, **model):
    facts = {"peft": {"default": {}}, "start": start, "trainable": 8} | model
    builder = RunBuilder().facts(step=step, model=facts)
    return found_by(AdapterNotLoaded(), builder.run)


def file(**more):
    return {"file": {"folder": "a", "keys": 8} | more}


def state(zero=2, trainable=True, saved_from="", base_class="Llama"):
    row = {
        "pairs": 2,
        "zero_b": zero,
        "trainable": trainable,
        "saved_from": saved_from,
        "scaling": {"model.q": 1.0, "model.v": 1.0},
    }
    return {"adapters": {"default": row}, "base_class": base_class}


@pytest.mark.parametrize(
    "reason", ["compiled", "parallel", "other-class", "other-model"]
)
def test_says_why_keys_are_not_read(reason):
    finding = only(check(file(unread=["x", "y"], reason=reason, absent=[B])), "error")
    assert finding.evidence["reason"] == reason
    assert finding.places == (Place("file", "adapter keys"), Place("param", B))
    assert "2 of 8 keys of the file are not read" in finding.message
    assert finding.cause == CAUSES[reason][0]


def test_values_that_are_not_the_files():
    (finding,) = check(file(live_zero_b=[B], different=[B, "other"]))
    assert finding.evidence == {"reason": "values", "tensors": 1}
    assert len(check(file(different=[B]))) == 1


@pytest.mark.parametrize(
    ("checkpoint", "trainer", "reason"),
    [
        (True, "Trainer", "not-resumed-yet"),
        (False, "Trainer", "values"),
        (True, "", "values"),
    ],
)
def test_a_checkpoint_is_read_when_its_trainer_begins(checkpoint, trainer, reason):
    start = file(live_zero_b=[B], different=[B], checkpoint=checkpoint)
    builder = RunBuilder().facts(
        model={"peft": {"default": {}}, "start": start, "trainable": 8},
        training={"trainer_class": trainer},
    )
    finding = only(found_by(AdapterNotLoaded(), builder.run), reason=reason)
    assert (finding.severity is Severity.INFO) == (reason == "not-resumed-yet")


def test_a_file_that_was_read_is_fine_whatever_the_state():
    assert check(file(unread=[]) | state(), trainable=0) == ()


def test_a_fresh_adapter_that_is_trained_is_fine():
    assert check(state()) == ()


def test_a_model_of_which_nothing_is_trained_has_loaded_nothing():
    finding = only(check(state(trainable=False), trainable=0), reason="zero")
    assert finding.place == Place("param", B)
    assert Place("config", "inference_mode") in finding.places
    assert check(state(zero=1, trainable=False), trainable=0) == ()


def test_a_frozen_reference_beside_what_is_trained_is_fine():
    assert check(state(trainable=False), trainable=8) == ()


def test_the_class_that_it_was_saved_from_is_not_the_one_it_is_on():
    (finding,) = check(state(saved_from="LlamaForCausalLM", base_class="LlamaModel"))
    assert finding.evidence["reason"] == "other-class"
    assert "saved from LlamaForCausalLM, loaded on LlamaModel" in finding.message
    assert check(state(saved_from="LlamaModel", base_class="LlamaModel")) == ()


def test_a_run_that_goes_on_does_not_begin_at_zero():
    finding = only(check(state(), step=100), reason="resumed-at-zero")
    assert finding.first_step == 100
    assert check(state(zero=1), step=100) == ()


def load(**detail):
    given = {"adapter": "", "keys": 8, "aliased": 0, "of": 0, "matched": 0}
    return ("load", "model", given | detail)


LOST = load(lost=8, reason="prefix", example="model.q.lora_A.default.weight")


def loading(*ops):
    builder = RunBuilder().facts(model={"peft": {"default": {}}, "start": state()})
    builder.step().step(ops=ops)
    return found_by(AdapterNotLoaded(), builder.run)


def test_a_load_that_nobody_read():
    finding = only(loading(LOST), reason="prefix")
    assert (finding.first_step, finding.place) == (1, Place("file", "adapter keys"))
    assert "load_state_dict ignored 8 of 8 keys" in finding.message


def test_another_load_of_the_step_that_was_read_forgives_it():
    assert loading(LOST, load(matched=8)) == ()
    assert loading(load(matched=8)) == ()


def test_an_adapter_of_another_shape():
    (finding,) = loading(load(adapter="mine", matched=0, misshapen=["a.lora_A.weight"]))
    assert finding.evidence["reason"] == "other-shape"
    assert "PEFT's load of the adapter 'mine'" in finding.message
    (finding,) = check(file(misshapen=[B], different=[B], live_zero_b=[B]))
    assert finding.evidence["reason"] == "other-shape"


def fit(**counts):
    return state() | {"optimizer_fit": [{"states": 4} | counts]}


def test_moments_have_moved_what_is_zero():
    finding = only(check(fit(moved=2, empty=2)), place="file adapter keys")
    assert finding.evidence["reason"] == "moments-without-weights"
    assert check(fit(moved=2, empty=1)) == ()
    assert check(fit(moved=0, empty=0)) == ()


def test_moments_have_moved_norms_that_are_as_made():
    unmoved = {"unmoved": ["norm.weight", "ln.bias"], "unmoved_count": 2}
    finding = only(check(fit(norms=2, **unmoved)), place="call load_state_dict")
    assert finding.evidence["reason"] == "moments-of-other-weights"
    assert Place("param", "norm.weight") in finding.places
    assert check(fit(norms=3, **unmoved)) == ()
    assert check(fit(norms=1, unmoved=["norm.weight"], unmoved_count=1)) == ()


def row(**more):
    plain = {"pairs": 2, "zero_b": 2, "init": "True", "trainable": False}
    scaling = {"model.q": 1.0}
    return plain | {"active": False, "saved_from": "", "scaling": scaling} | more


FRESH, TRAINED = row(active=True, trainable=True), row(zero_b=0)


def beside(adapters, steps=0, ops=(), optimizers=(), **model):
    facts = {"peft": {name: {} for name in adapters}, "trainable": 8} | model
    builder = RunBuilder().facts(
        model=facts | {"start": {"adapters": adapters}}, optimizers=optimizers
    )
    builder.steps(steps, ops=ops)
    return found_by(AdapterNotLoaded(), builder.run)


def test_a_trained_adapter_came_later_and_a_fresh_one_is_used():
    finding = only(beside({"default": FRESH, "mine": TRAINED}), "warning")
    assert finding.evidence["reason"] == "inactive"
    assert finding.place == Place("call", "set_adapter")


def test_in_training_it_is_noted_after_a_step_unless_the_other_is_used_too():
    case = {"optimizers": ({"class": "AdamW"},)}
    adapters = {"default": FRESH, "teacher": TRAINED}
    assert beside(adapters, **case) == ()
    only(beside(adapters, steps=1, **case), "info")
    used = [("set_adapter", "adapters", {"adapters": "teacher"})]
    assert beside(adapters, steps=1, ops=used, **case) == ()


@pytest.mark.parametrize(
    "adapters",
    [
        {"old": TRAINED, "second": FRESH},
        {"default": FRESH | {"zero_b": 0}, "mine": TRAINED},
        {"default": FRESH, "reference": row()},
        {"default": FRESH, "mine": TRAINED | {"active": True}},
        {"default": FRESH, "mine": TRAINED | {"init": "pissa"}},
        {"default": FRESH, "mine": TRAINED | {"trainable": True}},
    ],
)
def test_a_new_task_beside_an_old_one_is_fine(adapters):
    assert beside(adapters) == ()


FILLED = {"default": row(zero_b=0), "style": row(active=True, trainable=True)}
AS_IN_FILE = {"folder": "a", "keys": 4, "adapter": "default", "for_use": False}


def filled(adapters=FILLED, ops=(), steps=0, **file):
    start = {"adapters": adapters, "file": AS_IN_FILE | file}
    facts = {"peft": {name: {} for name in adapters}, "start": start, "trainable": 8}
    builder = RunBuilder().facts(model=facts, optimizers=({"class": "AdamW"},))
    builder.steps(steps, ops=ops)
    return found_by(AdapterNotLoaded(), builder.run)


def test_the_folder_was_loaded_into_an_adapter_that_is_not_active():
    finding = only(filled(), "warning", "call set_peft_model_state_dict")
    assert finding.evidence["reason"] == "other-slot"
    assert Place("param", "model.q.lora_B.style.weight") in finding.places


@pytest.mark.parametrize(
    "case",
    [
        {"for_use": True},
        {"adapter": "style"},
        {"different": [], "adapters": FILLED | {"style": row(active=True, zero_b=0)}},
        {"adapters": FILLED | {"default": row()}},
        {"adapters": {"default": row(zero_b=0, active=True), "style": row()}},
    ],
)
def test_what_is_trained_beside_the_folders_adapter_may_be_empty(case):
    assert filled(**case) == ()


def test_adapters_that_are_trained_in_turn_are_waited_for():
    both = FILLED | {"default": row(zero_b=0, trainable=True)}
    used = [("set_adapter", "adapters", {"adapters": "default"})]
    assert filled(both) == ()
    assert len(filled(both, steps=1)) == 1
    assert filled(both, steps=1, ops=used) == ()


def test_weights_of_the_base_stand_in_its_folder_under_other_names():
    key = "q.base_layer.weight"
    base = {"folder": "a", "keys": 8, "lost": 1, "example": key, "names": ["q.weight"]}
    facts = {"peft": {}, "start": {"base_file": base}}
    run = RunBuilder().facts(model=facts).run
    finding = only(found_by(AdapterNotLoaded(), run), reason="base-names")
    assert finding.places == (
        Place("call", "from_pretrained"),
        Place("param", "q.weight"),
    )


OUTDATED = ["a newer pickle beside"]


def test_a_file_beside_a_newer_one_was_read():
    (finding,) = check(file(problems=OUTDATED, adapter="default"))
    assert finding.evidence["reason"] == "outdated-file"
    assert "adapter_model.bin next to it is newer" in finding.message
    only(check(file(problems=OUTDATED, different=[B])), reason="values")


def test_an_older_file_that_is_read_in_the_run_is_told_at_its_step():
    detail = {"adapter": "default", "folder": "b", "outdated": True}
    builder = RunBuilder().facts(model={"peft": {"default": {}}})
    builder.step(ops=[("load", "adapter settings", detail)])
    (finding,) = found_by(AdapterNotLoaded(), builder.run)
    assert (finding.evidence["reason"], finding.first_step) == ("outdated-file", 0)
