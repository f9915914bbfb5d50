"""OPT001."""

import dataclasses

from ftlab.records.finding import Severity
from ftlab.rules.optimizer.optimizer_holds_stale_parameters import (
    OptimizerHoldsStaleParameters,
)
from tests.runs import RunBuilder, checker, only, places, report_by

check = checker(OptimizerHoldsStaleParameters())


def old(shape=(128, 64), dtype="float32", hint=""):
    return {
        "shape": list(shape),
        "dtype": dtype,
        "group": 0,
        "index": 3,
        "name_hint": hint,
    }


def facts(*optimizers, builder=None):
    builder = builder or RunBuilder()
    return builder.facts(optimizers=optimizers).step().step()


def test_a_replaced_parameter_is_an_error():
    builder = facts({"foreign": [old()], "missing": ["lm_head.weight"]})
    finding = only(check(builder), "error")
    assert "holds 1 parameter that the model does not have" in finding.message
    assert "128x64 float32 in group 0" in finding.message
    assert places(finding) == ["optimizer optimizer 0", "param lm_head.weight"]
    assert "lm_head.weight" in finding.cause


def test_the_name_that_it_probably_had_is_shown():
    builder = facts({"foreign": [old(hint="lm_head.weight")], "missing": ["x"]})
    assert "lm_head.weight" in check(builder)[0].message


def test_more_parameters_are_information_when_nothing_is_missing():
    finding = only(check(facts({"foreign": [old(())], "missing": []})), "info")
    assert "scalar float32" in finding.message


def test_each_optimizer_is_a_finding():
    first, second = {"foreign": [old()], "missing": ["x"]}, {"foreign": [old(), old()]}
    found = check(facts(first, second))
    assert {finding.place.name for finding in found} == {"optimizer 0", "optimizer 1"}


def test_master_weights_are_left_alone():
    builder = RunBuilder()
    builder.tensor("w", shape=(4, 4), dtype="bfloat16")
    one = {"foreign": [old((4, 4))], "missing": ["w"]}
    assert check(facts(one, builder=builder)) == ()


def test_copies_of_parameters_that_are_not_known_yet_are_not_judged():
    builder = RunBuilder().facts(
        model={"dtype": "bfloat16"},
        optimizers=({"foreign": [old((4, 4))], "missing": ["w"]},),
    )
    report = report_by(OptimizerHoldsStaleParameters(), builder.run)
    assert report.findings == ()
    assert "before the first step" in report.not_checked[0].reason


def test_copies_of_weights_that_stand_still_are_stale():
    builder = RunBuilder()
    builder.tensor("w", shape=(4, 4), dtype="bfloat16")
    builder.facts(optimizers=({"foreign": [old((4, 4))], "missing": ["w"]},))
    builder.step({"weight_l2": 1.0}).step({"weight_l2": 1.0})
    assert check(builder)[0].severity is Severity.ERROR


def test_more_copies_than_weights_are_no_master_weights():
    builder = RunBuilder()
    builder.tensor("w", shape=(4, 4), dtype="bfloat16")
    one = {"foreign": [old((4, 4)), old((4, 4))], "missing": ["w"]}
    assert check(facts(one, builder=builder))[0].evidence["foreign"] == 1


def test_float32_parameters_have_no_master_weights():
    builder = RunBuilder()
    builder.tensor("w", shape=(4, 4))
    one = {"foreign": [old((4, 4))], "missing": ["w"]}
    assert len(check(facts(one, builder=builder))) == 1


def test_a_fault_that_was_repaired_on_the_way_is_not_reported_again():
    builder = facts({"foreign": [old()], "missing": ["x"]})
    builder.facts(step=1, optimizers=({"foreign": [], "missing": []},))
    assert check(builder) == ()


def test_what_changed_after_the_last_step_is_not_judged():
    builder = facts({"foreign": [], "missing": []})
    builder.facts(step=1, optimizers=({"foreign": [old()], "missing": ["x"]},))
    assert check(builder) == ()
    finding = only(check(builder.step()), steps=(2, 2))
    assert finding.message.startswith("step 2:")


def test_what_is_known_to_be_gone_is_named():
    builder = RunBuilder()
    builder.tensor("a.lora_A.default.weight")
    builder.tensor("head")
    gone = builder.tensors[0]
    builder.run.append(dataclasses.replace(gone, trainable=False))
    held = {
        "foreign": [old(hint="x")],
        "missing": ["x"],
        "groups": [{"names": ["head"]}],
    }
    (finding,) = check(facts(held, builder=builder))
    assert finding.message.endswith("does not have: a.lora_A")
    assert [place.name for place in finding.places] == [
        "optimizer 0",
        "x",
        "a.lora_A.default.weight",
    ]
