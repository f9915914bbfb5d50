"""ENV002."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.rules.environment.asked_optimizer_not_used import AskedOptimizerNotUsed
from tests.rules.environment.trainers import ADAMW, found
from tests.runs import only

ASKED = {"learning_rate": 1e-3, "weight_decay": 0.1}


def check(asked, *groups, kind="AdamW", **parts):
    optimizer = ADAMW | {"class": kind, "groups": list(groups)}
    return found(AskedOptimizerNotUsed(), asked=asked, optimizers=[optimizer], **parts)


def test_no_group_has_the_rate_and_the_decay_asked_for():
    (finding,) = check(ASKED, {"lr": 0.0, "initial_lr": 1e-4, "weight_decay": 0.01})
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("config", "learning_rate")
    assert "learning_rate=0.001 but 0.0001 is used" in finding.message
    assert "weight_decay=0.1 but 0.01 is used" in finding.message


@pytest.mark.parametrize(
    ("asked", "parts"),
    [
        (ASKED, {}),
        ({}, {}),
        ({"learning_rate": 0.5}, {"step": 8}),
        ({"learning_rate": 0.5}, {"schedulers": [{"asked": {"max_lrs": [0.5]}}]}),
        ({"adam_beta1": 0.8}, {"made": {"settings": {"beta1": 0.8}}}),
        ({"optim": "adamw_torch"}, {}),
    ],
)
def test_what_is_as_asked_is_left_in_peace(asked, parts):
    groups = (
        {"lr": 0.0, "initial_lr": 1e-3, "weight_decay": 0.1},
        {"lr": 0.0, "initial_lr": 5e-3, "weight_decay": 0.0},
    )
    assert check(asked, *groups, **parts) == ()


def test_an_optimizer_of_another_family():
    finding = only(check({"optim": "adafactor"}, {"lr": 1e-3}), place="config optim")
    assert finding.evidence["reason"] == "family"
    assert check({"optim": "adafactor"}, {"lr": 1e-3}, kind="Adafactor") == ()
    layers = "LayerWiseDummyOptimizer"
    asked = {"optim": "galore_adafactor_layerwise"}
    assert check(asked, {"lr": 1e-3}, kind=layers) == ()


def test_betas_of_another_value():
    made = {"settings": {"beta1": 0.9, "beta2": 0.999}}
    (finding,) = check({"adam_beta2": 0.95}, {"lr": 1e-3}, made=made)
    assert finding.place == Place("config", "adam_beta2")


def test_an_optimizer_that_makes_its_own_rates():
    made = {"own_rates": True}
    asked = {"learning_rate": 1e-3}
    only(check(asked, {"lr": None}, kind="Adafactor", made=made), reason="own-rates")


def test_a_loader_of_another_batch_size():
    asked = {"per_device_train_batch_size": 8}
    (finding,) = check(asked, {}, loader={"batches": 4, "batch_size": 2})
    assert finding.evidence["reason"] == "loader"
    assert finding.place == Place("config", "per_device_train_batch_size")
    assert check(asked, {}, loader={"batches": 4, "batch_size": 2}, world_size=4) == ()
    assert check(asked, {}) == ()
