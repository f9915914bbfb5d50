"""OPT029."""

import pytest

from ftlab.records.finding import Place
from ftlab.rules.optimizer.floor_above_rate import FloorAboveRate
from tests.runs import RunBuilder, checker, only

COSINE = {"class": "CosineAnnealingLR", "optimizer_index": 0}
HIGH = {"eta_min": 1e-2, "base_lrs": [1e-4], "T_max": 20}
PLATEAU = {"class": "ReduceLROnPlateau", "optimizer_index": 0}
check = checker(FloorAboveRate())


def told(*schedulers, **training):
    return check(RunBuilder().facts(schedulers=schedulers, training=training))


def test_a_cosine_that_rises_to_its_floor():
    finding = only(told(COSINE | {"asked": HIGH}), "warning", "config eta_min")
    assert finding.evidence["reason"] == "rises-to-its-floor"
    assert "is 0.01, above the rate that it should limit, 0.0001" in finding.message


@pytest.mark.parametrize("floor", [0.0, 1e-5, 1e-4])
def test_a_floor_that_is_not_above_the_rate_is_quiet(floor):
    assert told(COSINE | {"asked": HIGH | {"eta_min": floor}}) == ()


@pytest.mark.parametrize("name", ["min_lr_rate", "min_lr_ratio"])
def test_shares_above_one(name):
    asked = {"schedule": "_get_wsd", name: 100.0, "base_lrs": [1e-4]}
    facts = {"class": "LambdaLR", "optimizer_index": 0}
    (finding,) = told(facts | {"asked": asked})
    assert finding.place == Place("config", name)
    assert finding.evidence["floor"] == pytest.approx(1e-2)
    assert told(facts | {"asked": asked | {name: 1.0}}) == ()


def test_of_a_chain_the_last_part_is_read():
    rising, flat = {"class": "CosineAnnealingLR"} | HIGH, {"class": "ExponentialLR"}
    chain = {"class": "SequentialLR", "optimizer_index": 0}
    warmed = chain | {"asked": {"schedulers": [rising, flat]}, "holds": [1]}
    assert told(warmed, COSINE | {"asked": HIGH}) == ()
    assert len(told(chain | {"asked": {"schedulers": [flat, rising]}})) == 1


@pytest.mark.parametrize(
    ("schedulers", "training"),
    [
        ([COSINE | {"asked": HIGH | {"base_lrs": [1e-4, 1e-1]}}], {}),
        ([COSINE | {"asked": HIGH}, {"class": "StepLR", "optimizer_index": 0}], {}),
        ([COSINE | {"asked": HIGH}], {"max_steps": 40}),
    ],
    ids=["one-group", "second-scheduler", "a-part-of-the-run"],
)
def test_what_may_be_meant_is_noted(schedulers, training):
    only(told(*schedulers, **training), "info")


def test_groups_without_a_rate_are_left_out():
    assert told(COSINE | {"asked": HIGH | {"base_lrs": [0.0, 1e-1]}}) == ()


def test_the_arguments_of_a_trainer_before_it_has_a_scheduler():
    args = {"learning_rate": 1e-4, "lr_scheduler_type": "cosine_with_min_lr"}

    def asked(**settings):
        return told(args=args, asked={"lr_scheduler_kwargs": settings}, max_steps=10)

    finding = only(asked(min_lr=1e-2), place="config min_lr")
    assert finding.places[1] == Place("config", "lr_scheduler_kwargs")
    assert len(asked(min_lr_rate=2.0)) == 1
    args |= {"lr_scheduler_type": "reduce_lr_on_plateau"}
    only(asked(min_lr=1e-2), reason="never-cuts")
    assert asked(min_lr=1e-5) == asked(min_lr_rate=0.1) == asked() == ()


def waiting(rates, floors=(1e-3,), used=None):
    builder = RunBuilder().facts(
        schedulers=(PLATEAU | {"asked": {"min_lrs": list(floors)}},)
    )
    for rate in rates:
        detail = {"lr_before": [rate], "lr_after": [rate], "epoch": 1}
        moves = ("scheduler_step", "scheduler 0", detail)
        builder.step(ops=("forward", "backward", moves), lr=(used or rate,))
    return check(builder)


def test_a_plateau_that_never_cuts():
    only(waiting([1e-4] * 3), "warning", "config min_lr", reason="never-cuts")


def test_plateaus_at_their_floor_and_warmups_are_quiet():
    assert waiting([1e-4] * 2) == ()
    assert waiting([1e-3] * 4) == ()
    assert waiting([1e-4, 2e-4, 3e-4]) == ()
    assert waiting([1e-4] * 4, used=2e-3) == ()
    assert waiting([0.0] * 4) == ()
