"""MOD017: dropouts that are not what the configuration says."""

import pytest

from ftlab.records.finding import Severity
from ftlab.rules.model.dropout_off_configuration import DropoutOffConfiguration
from tests.runs import RunBuilder, found_by, only


def check(asked, used, shared=False, trainable=2):
    part = {"tensors": 2, "trainable": trainable}
    entry = {"asked": asked, "used": used, "shared": shared}
    one = {"parts": {"lora_A": part}, "dropouts": {"lora_dropout": entry}}
    run = RunBuilder()
    run.facts(model={"adapters": {"adapters": {"a": one}}}, optimizers=({},))
    return found_by(DropoutOffConfiguration(), run.run)


@pytest.mark.parametrize(
    ("asked", "used", "reason", "severity"),
    [
        (0.1, {"none": 4}, "never-made", Severity.WARNING),
        (0.0, {"0.1": 4}, "still-made", Severity.WARNING),
        (0.1, {"0.2": 4}, "other-value", Severity.INFO),
    ],
)
def test_what_the_layers_were_not_made_with_is_found(asked, used, reason, severity):
    only(check(asked, used), severity.label, "config lora_dropout", reason=reason)


@pytest.mark.parametrize(
    ("asked", "used"),
    [
        (0.0, {"none": 4}),
        (0.1, {"0.1": 4}),
        (0.1, {"0.0": 4}),
        (0.1, {"0.1": 2, "none": 2}),
        (0.0, {"0.1": 2, "none": 2}),
    ],
    ids=["none", "as asked", "set to 0", "some", "some without"],
)
def test_what_they_were_made_with_or_switched_off_is_left_alone(asked, used):
    assert check(asked, used) == ()


def test_a_configuration_that_serves_two_is_noted():
    only(check(0.1, {"none": 4}, shared=True), "info")


def test_an_adapter_that_learns_nothing_is_left_alone():
    assert check(0.1, {"none": 4}, trainable=0) == ()
