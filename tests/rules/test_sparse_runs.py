"""All rules over runs of which little, or nothing, could be recorded.

A rule that fails is switched off with a warning, and warnings are errors here.
"""

import itertools

import pytest

from ftlab.rules.engine import Engine
from ftlab.rules.registry import all_rules
from tests.runs import RunBuilder, loop_ops

NAN = float("nan")
COLUMNS = ("has_grad", "grad_l2", "grad_max", "weight_l2", "update_l2", "stuck_share")
OPTIMIZERS = {
    "none": (),
    "without groups": ({"class": "Mine"},),
    "empty groups": ({"class": "Mine", "groups": []},),
    "groups without values": ({"class": "Mine", "groups": [{}, {}]},),
    "one beside another": (
        {"class": "Mine", "groups": []},
        {"class": "AdamW", "groups": [{"lr": 1e-3}]},
    ),
}
RATES = {"none": (), "one": (1e-3,), "zero": (0.0,), "nan": (NAN,), "two": (1e-3, 0.0)}
TENSORS = {
    "none": None,
    "ones": dict.fromkeys(COLUMNS, 1.0),
    "zeros": dict.fromkeys(COLUMNS, 0.0),
    "nan": dict.fromkeys(COLUMNS, NAN),
}


@pytest.mark.parametrize(
    ("optimizers", "rates", "tensors", "schedulers"),
    list(itertools.product(OPTIMIZERS, RATES, TENSORS, ["none", "bare"])),
)
def test_no_rule_fails_on_what_is_missing(optimizers, rates, tensors, schedulers):
    builder = RunBuilder()
    if tensors != "none":
        builder.tensor("model.w", "layers.0")
        builder.lora("layers.0")
    builder.facts(
        optimizers=OPTIMIZERS[optimizers],
        schedulers=() if schedulers == "none" else ({"class": "Mine"},),
    )
    builder.steps(40, TENSORS[tensors], ops=loop_ops(), lr=RATES[rates])
    report = Engine(all_rules()).check(builder.run)
    failed = [entry for entry in report.not_checked if "itself failed" in str(entry)]
    assert failed == []
