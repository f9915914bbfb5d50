"""OPT003."""

import pytest

from ftlab.records.finding import Place
from ftlab.rules.optimizer.misplaced_scheduler_step import MisplacedSchedulerStep
from tests.runs import RunBuilder, checker, loop_ops, only, report_by

FORWARD = ("forward", "model", {"mode": "train", "grad_enabled": True})
EVALUATE = ("forward", "model", {"mode": "eval", "grad_enabled": False})
STEP = ("step", "optimizer 0", {"lr": [1e-3]})
SKIP = ("skip", "optimizer 0", {})
ZERO = ("zero_grad", "optimizer 0", {})


def back(micro=0):
    return ("backward", "loss", {"micro": micro})


def plan(number=0, **detail):
    rates = {"lr_before": [1e-3], "lr_after": [9e-4]} | detail
    return ("scheduler_step", f"scheduler {number}", rates)


check = checker(MisplacedSchedulerStep())


def loop(*ops, count=6, before=(), **facts):
    builder = RunBuilder()
    if facts:
        builder.facts(**facts)
    for step in range(count):
        builder.step(ops=(*before, *ops) if step == 0 else ops)
    return builder


@pytest.mark.parametrize(
    "ops",
    [
        (ZERO, FORWARD, back(), STEP, plan()),
        (FORWARD, back(), STEP, plan(), ZERO),
        (FORWARD, back(), STEP, ZERO, plan()),
        (FORWARD, back(0), FORWARD, back(1), STEP, plan(), ZERO),
        (FORWARD, back(), STEP, EVALUATE, plan()),
        (FORWARD, back(), SKIP, plan()),
        (FORWARD, back(), SKIP),
        (FORWARD, back(), STEP, plan(0), plan(1)),
    ],
    ids=[
        "zero-first",
        "trainer",
        "zero-between",
        "accumulation",
        "evaluation-between",
        "skipped-and-scheduled",
        "skipped-only",
        "two-schedulers",
    ],
)
def test_legal_orders_are_quiet(ops):
    builder = loop(*ops)
    builder.step(ops=(FORWARD, back(), STEP, plan()))
    assert check(builder) == ()


def test_before_the_optimizer():
    finding = only(check(loop(*loop_ops("before"))), "warning", kind="before-optimizer")
    assert "between the forward pass and the step of optimizer 0" in finding.message
    order = Place("call", "scheduler.step before optimizer.step")
    assert finding.places == (order, Place("call", "scheduler.step"))
    assert "lr 0.001 -> 0.0009" in finding.message


def test_a_closure_runs_the_forward_within_the_update():
    assert check(loop(STEP, ZERO, FORWARD, back(), plan())) == ()


def test_twice():
    finding = only(check(loop(*loop_ops("twice"))), kind="several-times")
    assert "2 scheduler steps for one optimizer step" in finding.message


def test_per_micro_batch():
    micro = [op for i in range(4) for op in (FORWARD, back(i), plan())]
    finding = only(check(loop(ZERO, *micro, STEP)), "error", kind="per-micro-batch")
    assert "once per micro-batch: 4 scheduler steps" in finding.message


def test_repetitions_that_the_ledger_joined_count():
    twice = plan(times=2)
    builder = loop(FORWARD, back(), STEP, plan())
    builder.steps(8, ops=(FORWARD, back(), STEP, twice))
    assert len(check(builder)) == 1


@pytest.mark.parametrize(("count", "found"), [(2, 0), (3, 1)])
def test_takes_three_repetitions(count, found):
    assert len(check(loop(*loop_ops("before"), count=count))) == found


def test_takes_half_of_the_updates():
    builder = loop(*loop_ops("before"), count=4)
    builder.steps(5, ops=loop_ops("after"))
    assert check(builder) == ()


def test_stepping_forward_before_the_run_is_a_resume():
    assert check(loop(*loop_ops("after"), before=[plan()] * 100)) == ()


def test_a_schedule_that_changes_nothing_is_left_alone():
    still = plan(lr_after=[1e-3])
    assert check(loop(FORWARD, back(), still, STEP)) == ()


def test_warm_up_from_zero_is_no_fault():
    builder = RunBuilder()
    for step in range(6):
        rates = {"lr_before": [1e-4 * step], "lr_after": [1e-4 * (step + 1)]}
        builder.step(ops=(FORWARD, back(), STEP, plan(**rates)))
    assert check(builder) == ()


def test_a_schedule_per_epoch_is_quiet():
    builder = RunBuilder()
    for step in range(20):
        tail = (plan(),) if step % 5 == 4 else ()
        builder.step(ops=(FORWARD, back(), STEP, *tail))
    assert check(builder) == ()


def test_as_many_steps_as_processes_are_meant():
    twice = loop_ops("twice")
    assert check(loop(*twice, training={"world_size": 2})) == ()
    assert len(check(loop(*twice, training={"world_size": 4}))) == 1


def test_a_schedule_that_was_planned_in_micro_batches_is_meant():
    facts = {"training": {"max_steps": 100}}

    def asked(total):
        entry = {"asked": {"num_training_steps": total}, "optimizer_index": 0}
        return check(loop(*loop_ops("twice"), **facts, schedulers=(entry,)))

    assert asked(200) == ()
    assert len(asked(199)) == 1


def test_the_scheduler_of_a_second_optimizer_follows_that_one():
    other = ("step", "optimizer 1", {})
    entries = ({"optimizer_index": 0}, {"optimizer_index": 1})
    ops = (FORWARD, back(), STEP, plan(0), FORWARD, back(), other, plan(1))
    assert check(loop(*ops, schedulers=entries)) == ()
    wrong = (FORWARD, back(), STEP, plan(0), FORWARD, back(), plan(1), other)
    (finding,) = check(loop(*wrong, schedulers=entries))
    assert finding.place.name == "scheduler 1.step before optimizer 1.step"


CHAINED = (
    {"class": "SequentialLR", "optimizer_index": 0, "holds": [1]},
    {"class": "LinearLR", "optimizer_index": 0},
)


def test_a_scheduler_within_a_chain_that_the_loop_steps_too():
    ops = (FORWARD, back(), STEP, plan(1), plan(0))
    finding = only(check(loop(*ops, schedulers=CHAINED)), "error")
    assert finding.evidence["kind"] == "within-a-chain"
    assert finding.place == Place("call", "scheduler 1.step")
    assert "the loop steps LinearLR as well" in finding.message
    assert check(loop(*ops, count=2, schedulers=CHAINED)) == ()
    beside = ({"optimizer_index": 0}, CHAINED[1])
    assert check(loop(*ops, schedulers=beside)) == ()


@pytest.mark.parametrize(
    "ops",
    [(plan(0),), (plan(1),), (plan(0, lr_after=[1e-3]), plan(1, lr_after=[1e-3]))],
    ids=["chain-alone", "in-its-place", "nothing-moves"],
)
def test_a_chain_or_what_it_holds_may_be_stepped(ops):
    assert check(loop(FORWARD, back(), STEP, *ops, schedulers=CHAINED)) == ()


def test_what_a_chain_holds_may_be_stepped_before_the_run():
    ops = (FORWARD, back(), STEP, plan(0))
    assert check(loop(*ops, before=[plan(1)] * 9, schedulers=CHAINED)) == ()


def test_the_first_cycle_of_a_window_is_not_whole():
    builder = RunBuilder()
    builder.step_number = 7
    builder.steps(3, ops=loop_ops("before"))
    assert check(builder) == ()


def test_without_a_scheduler_there_is_nothing_to_check():
    def unchecked(builder):
        return report_by(MisplacedSchedulerStep(), builder.run).not_checked

    assert unchecked(loop(FORWARD, back(), STEP)) == ()
    waiting = loop(FORWARD, back(), STEP, schedulers=({"optimizer_index": 0},))
    assert [entry.code for entry in unchecked(waiting)] == ["OPT003"]
    assert [entry.code for entry in unchecked(RunBuilder())] == ["OPT003"]
