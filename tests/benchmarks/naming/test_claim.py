"""Judging what tools say, on reports made by hand."""

import doctest
from dataclasses import replace

import pytest

from benchmarks.anomalies.case import Expected, Line
from benchmarks.naming import claim as claim_module
from benchmarks.naming.claim import (
    EXACT,
    OUTSIDE,
    PARTLY,
    SILENT,
    WRONGLY,
    Claim,
    judge,
)

HERE = "/somewhere/own.py"
TRUTH = Expected(
    phase="backward",
    op=frozenset({"aten.div.Tensor"}),
    module="model.layers.1.mlp",
    kind="backward",
    line=Line("own.py", "", 12),
    forward=frozenset({"aten.sqrt.default"}),
    step=1,
    micro_batch=1,
)
FORWARD = replace(TRUTH, phase="forward", op=TRUTH.forward, forward=frozenset())


def verdict(aspect: str, truth: Expected = TRUTH, **said) -> str:
    return judge(Claim(**said), truth)[aspect]


def test_saying_nothing_is_neither_right_nor_wrong():
    assert set(judge(None, TRUTH).values()) == {SILENT}
    silent = judge(Claim(step=1, micro_batch=1), TRUTH)
    assert silent.pop("found") == EXACT
    assert set(silent.values()) == {SILENT}


@pytest.mark.parametrize(
    ("step", "micro", "expected"),
    [
        (1, 1, EXACT),
        (1, None, EXACT),
        (2, 0, PARTLY),
        (0, 1, WRONGLY),
        (1, 0, WRONGLY),
        (None, None, PARTLY),
    ],
)
def test_finding_it_later_is_partly_right(step, micro, expected):
    assert verdict("found", step=step, micro_batch=micro) == expected


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("aten.div.Tensor", EXACT),
        ("SqrtBackward0", EXACT),
        ("aten.div.Scalar", PARTLY),
        ("sqrt", PARTLY),
        ("MulBackward0", WRONGLY),
    ],
)
def test_a_node_stands_for_the_derivative_of_its_op(op, expected):
    assert verdict("op", op=op) == expected


@pytest.mark.parametrize(
    ("op", "expected"),
    [("sqrt", EXACT), ("sqrt_", EXACT), ("SqrtBackward0", PARTLY), ("log", WRONGLY)],
)
def test_a_python_name_stands_for_the_op(op, expected):
    assert verdict("op", FORWARD, op=op) == expected


def test_a_function_that_holds_the_op_is_partly_right():
    truth = replace(FORWARD, op=frozenset({"aten.nll_loss_forward.default"}))
    assert verdict("op", truth, op="cross_entropy") == PARTLY
    truth = replace(FORWARD, op=frozenset({"aten.mm.default"}))
    assert verdict("op", truth, op="linear") == EXACT


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("model.layers.1.mlp", EXACT),
        ("model.layers.1", PARTLY),
        ("model.layers.1.mlp.act_fn", PARTLY),
        ("model.layers.10", WRONGLY),
        ("model.layers.1.mlp2", WRONGLY),
        ("", WRONGLY),
        (OUTSIDE, WRONGLY),
    ],
)
def test_a_module_around_or_within_is_partly_right(module, expected):
    assert verdict("module", module=module) == expected


def test_outside_of_all_modules_is_a_place():
    truth = replace(TRUTH, module=None)
    assert verdict("module", truth, module=OUTSIDE) == EXACT
    assert verdict("module", truth, module="model") == WRONGLY
    assert verdict("module", replace(TRUTH, module=""), module="") == EXACT


def test_a_line_that_is_only_in_a_stack_is_partly_right():
    right, other = f"{HERE}:12 step", f"{HERE}:13 step"
    assert verdict("line", lines=(other, right)) == EXACT
    assert verdict("line", lines=(other,), frames=(right, other)) == PARTLY
    assert verdict("line", lines=(other,), frames=(other,)) == WRONGLY


def test_its_examples_are_true():
    assert doctest.testmod(claim_module).failed == 0
