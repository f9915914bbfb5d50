"""OPT002."""

import pytest

from ftlab.rules.optimizer.parameters_without_optimizer import (
    ParametersWithoutOptimizer,
)
from tests.runs import RunBuilder, only, reporter

report = reporter(ParametersWithoutOptimizer())


def missing(*names, steps=3, updates=None, waiting=()):
    builder = RunBuilder()
    for text in ("a", "b", "c"):
        builder.tensor(text)
    facts = {"missing": list(names), "waiting": list(waiting)}
    builder.facts(optimizers=(facts,))
    builder.steps(steps, None if updates is None else {"update_l2": updates})
    return builder


def test_names_what_no_optimizer_updates():
    finding = only(report(missing("a", "c")).findings, "error")
    assert "2 of 3 trainable tensors are in no optimizer group: a, c" in (
        finding.message
    )
    assert [place.name for place in finding.places] == ["a", "c", "optimizer 0"]


@pytest.mark.parametrize(("steps", "found"), [(0, 0), (1, 0), (2, 1)])
def test_waits_for_optimizers_that_have_not_stepped(steps, found):
    outcome = report(missing("a", steps=steps))
    assert len(outcome.findings) == found
    assert len(outcome.not_checked) == 1 - found


def test_what_another_optimizer_holds_is_only_noted():
    finding = only(report(missing("a", "c", waiting="ac")).findings, "info")
    assert "2 trainable tensors wait for an optimizer" in finding.message


def test_what_no_optimizer_holds_is_told_without_what_waits():
    finding = only(report(missing("a", "c", waiting="a")).findings, "error")
    assert [place.name for place in finding.places] == ["c", "optimizer 0"]


def test_a_parameter_that_moves_is_dropped():
    (finding,) = report(missing("a", "b", updates=(0.1, 0.0, 0.1))).findings
    assert finding.evidence["missing"] == 1
    assert finding.place.name == "b"


def test_a_parameter_whose_norm_changes_is_dropped():
    builder = missing("a", "b", steps=0)
    for norm in (1.0, 1.5):
        builder.step({"weight_l2": (norm, 1.0, 1.0)})
    (finding,) = report(builder).findings
    assert [place.name for place in finding.places] == ["b", "optimizer 0"]


def test_master_weights_in_the_optimizer_are_enough():
    builder = RunBuilder()
    builder.tensor("a", shape=(4,), dtype="float16")
    copy = {"shape": [4], "dtype": "float32"}
    builder.facts(optimizers=({"foreign": [copy], "missing": ["a"]},))
    assert report(builder.step().step()).findings == ()


def test_a_parameter_without_a_gradient_is_dropped():
    builder = missing("a", "b", steps=0)
    builder.steps(2, {"has_grad": (0, 1, 1)})
    (finding,) = report(builder).findings
    assert finding.place.name == "b"


def test_what_changed_after_the_last_step_is_not_judged():
    builder = missing()
    builder.facts(step=2, optimizers=({"missing": ["a"]},))
    assert report(builder).findings == ()
    finding = only(report(builder.step()).findings, steps=(3, 3))
    assert finding.message.startswith("step 3:")


def test_is_quiet_when_all_of_them_move():
    assert report(missing("a", updates=(0.1, 0.1, 0.1))).findings == ()


def test_only_the_latest_facts_hold():
    builder = missing("a")
    builder.facts(step=2, optimizers=({"missing": []},))
    assert report(builder).findings == ()


def adapted(groups, lost):
    builder = RunBuilder()
    for (name, adapter), group in groups.items():
        meta = {"adapter": adapter, "group": group, "module": name.split(".")[0]}
        builder.tensor(name, meta=meta)
    builder.facts(optimizers=({"missing": lost},))
    builder.steps(3)
    (finding,) = report(builder).findings
    return finding.evidence["reason"]


def test_what_a_group_by_name_forgets_is_told_from_an_optimizer_built_too_early():
    held = {("q.lora_A", "x"): 0, ("q.magnitude", "x"): -1}
    assert adapted(held, ["q.magnitude"]) == "left-out"
    other = {("q.lora_A", "x"): 0, ("v.lora_A", "x"): -1}
    assert adapted(other, ["v.lora_A"]) == "built-before"
    head = {("q.lora_A", "x"): 0, ("q.magnitude", "x"): -1, ("head", ""): -1}
    assert adapted(head, ["q.magnitude", "head"]) == "built-before"
