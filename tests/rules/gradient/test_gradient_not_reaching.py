"""GRD003: what counts as not reaching; its reasons are tested in `reasons`."""

import pytest

from ftlab.rules.gradient.gradient_not_reaching import GradientNotReaching
from tests.runs import RunBuilder, healthy_lora, only, reporter

report = reporter(GradientNotReaching())


def check(builder):
    return report(builder).findings


def blocks(count=3):
    builder = RunBuilder()
    for index in range(count):
        builder.tensor(f"model.layers.{index}.w", f"layers.{index}")
    builder.tensor("model.head.weight", "head")
    return builder


def steps(builder, has, norms=1.0, count=20):
    builder.steps(count, {"has_grad": has, "grad_l2": norms})
    return builder


def test_is_quiet_on_a_healthy_run():
    assert check(healthy_lora()) == ()


def test_counts_who_received_a_gradient():
    finding = only(check(steps(blocks(), [0, 0, 1, 1])), place="module model.layers.1")
    assert "2 of 4 trainable tensors received a gradient" in finding.message
    assert "2 have no gradient: layers.0-1.w" in finding.message
    assert finding.evidence["reason"] == "graph-cut"
    assert (finding.first_step, finding.last_step) == (0, 19)


@pytest.mark.parametrize(("count", "found"), [(1, 0), (2, 1)])
def test_takes_three_steps(count, found):
    outcome = report(steps(blocks(), [0, 0, 1, 1], count=count))
    assert len(outcome.findings) == found
    assert len(outcome.not_checked) == 1 - found


@pytest.mark.parametrize(("count", "found"), [(15, 0), (16, 1)])
def test_takes_sixteen_steps_where_nothing_proves_the_reason(count, found):
    findings = check(steps(blocks(), [1, 0, 1, 1], count=count))
    assert len(findings) == found
    if found:
        assert findings[0].evidence["reason"] == "unknown"
        assert "does not tell" in findings[0].cause


def test_one_step_with_a_gradient_is_enough():
    builder = steps(blocks(), [0, 0, 1, 1], count=30)
    builder.step({"has_grad": [1, 1, 1, 1], "grad_l2": 1.0})
    assert check(builder) == ()


def test_exactly_zero_is_told_apart_from_none():
    finding = only(check(steps(blocks(), 1, [1.0, 0.0, 1.0, 1.0])), grad="exactly 0")
    assert "1 has a gradient of exactly 0: layers.1.w" in finding.message


def test_both_kinds_are_two_findings():
    findings = check(steps(blocks(4), [0, 1, 1, 1, 1], [0.0, 1.0, 0.0, 1.0, 1.0]))
    assert {finding.evidence["grad"] for finding in findings} == {"None", "exactly 0"}
    assert all("3 of 5 trainable" in finding.message for finding in findings)


def test_half_of_the_tensors_or_more_are_an_error():
    only(check(steps(blocks(), [0, 0, 1, 1])), "error")
    only(check(steps(blocks(4), [0, 0, 1, 1, 1])), "warning")


def test_one_unused_module_outside_the_blocks_is_only_noted():
    builder = blocks(12)
    builder.tensor("model.pooler.weight", "pooler")
    only(check(steps(builder, [*[1] * 13, 0])), "info")


def test_experts_without_tokens_are_let_pass():
    builder = RunBuilder()
    for index in range(4):
        builder.tensor(f"layers.0.experts.{index}.w1", "layers.0")
    assert check(steps(builder, [1, 0, 1, 0])) == ()
    assert check(steps(builder, 1, [1.0, 0.0, 1.0, 0.0])) == ()


def test_all_experts_without_a_gradient_are_found():
    builder = RunBuilder()
    for index in range(4):
        builder.tensor(f"layers.0.experts.{index}.w1", "layers.0")
    builder.tensor("layers.0.gate", "layers.0")
    only(check(steps(builder, [0, 0, 0, 0, 1])), without_gradient=4)


def pair(weights, norms, count=20):
    builder = RunBuilder()
    builder.lora("layers.0")
    for step in range(count):
        columns = {"has_grad": 1.0, "grad_l2": norms}
        if step == 0:
            columns["weight_l2"] = weights
        builder.step(columns)
    return check(builder)


def test_the_gradient_of_a_is_zero_while_b_is_zero():
    assert pair((3.0, 0.0), (0.0, 1.0)) == ()


def test_the_gradient_of_a_must_not_be_zero_when_b_is_not():
    assert len(pair((3.0, 0.5), (0.0, 1.0))) == 1


def test_the_gradient_of_b_must_not_be_zero_when_a_is_not():
    assert len(pair((3.0, 0.0), (1.0, 0.0))) == 1


def test_a_pair_of_zeros_is_another_rules_matter():
    assert pair((0.0, 0.0), (0.0, 0.0)) == ()


def test_a_gradient_that_is_zero_everywhere_is_no_pairs_matter():
    only(pair((3.0, 0.0), (0.0, 0.0)), without_gradient=2)


def test_one_trained_adapter_of_two_is_enough():
    builder = RunBuilder()
    builder.lora("layers.0", "second")
    configs = {name: {"peft_type": "LORA"} for name in ("default", "second")}
    builder.facts(model={"peft": configs})
    assert check(steps(builder, 1)) == ()


def test_places_of_a_layer_are_found_under_any_prefix():
    builder = RunBuilder()
    for index in (1, 10, 11):
        name = f"a.b.h.{index}.attn.c_attn.weight"
        builder.tensor(name, f"h.{index}")
    only(check(steps(builder, [0, 0, 1])), place="module a.b.h.10")
