"""GRD017."""

import pytest

from ftlab.records.finding import Severity
from ftlab.rules.gradient.micro_batches_misweighed import MicroBatchesMisweighed
from tests.runs import RunBuilder, report_by

STEP = ("step", "optimizer 0", {})
EARLY = ("step", "optimizer 0", {"accumulating": 4})


def back(micro, *divided, weight=None, **detail):
    product = 1.0
    for each in divided:
        product /= each
    known = {"micro": micro, "loss": "mean", "node": "NllLoss"}
    known |= {"weight": product if weight is None else weight}
    known |= {"divided": list(divided)} if divided else {}
    return ("backward", "loss", known | detail)


def backs(count, *divided, **detail):
    return tuple(back(micro, *divided, **detail) for micro in range(count))


def report(*updates, kind="SGD", training=None, columns=None, step=STEP):
    builder = RunBuilder()
    builder.tensor("layers.0.weight")
    builder.facts(optimizers=({"class": kind},), training=training or {})
    for update in updates:
        builder.step(columns, ops=(*update, step))
    return report_by(MicroBatchesMisweighed(), builder.run)


def only(*updates, **settings):
    (finding,) = report(*updates, **settings).findings
    return finding


@pytest.mark.parametrize(
    ("count", "divided", "kind", "reason", "severity", "total"),
    [
        (4, (), "SGD", "not-divided", Severity.WARNING, 4),
        (4, (), "AdamW", "not-divided", Severity.INFO, 4),
        (2, (), "SGD", "not-divided", Severity.INFO, 2),
        (4, (4, 4), "SGD", "divided-twice", Severity.ERROR, 1 / 4),
        (4, (4, 4), "AdamW", "divided-twice", Severity.WARNING, 1 / 4),
        (2, (2, 2), "SGD", "divided-twice", Severity.INFO, 1 / 2),
        (4, (8,), "SGD", "divided-by-another", Severity.WARNING, 1 / 2),
        (4, (8,), "AdamW", "divided-by-another", Severity.INFO, 1 / 2),
    ],
)
def test_finds_what_micro_batches_weigh(count, divided, kind, reason, severity, total):
    finding = only(*[backs(count, *divided)] * 3, kind=kind)
    assert finding.evidence["reason"] == reason
    assert finding.severity is severity
    assert finding.evidence["total_weight"] == pytest.approx(total)
    assert finding.evidence["micro_batches"] == count


def test_accelerate_is_named_where_it_divides_by_that_number():
    finding = only(*[backs(4, 4, 4, accelerate=4)] * 3)
    assert str(finding.place) == "call accelerator.backward"
    finding = only(*[backs(4, 4, 4, accelerate=2)] * 3)
    assert str(finding.place) == "call loss.backward"


@pytest.mark.parametrize(
    ("facts", "place"),
    [
        ({"own_compute_loss": True}, "call compute_loss"),
        ({"compute_loss_func": True}, "call compute_loss_func"),
        ({}, "config model_accepts_loss_kwargs"),
    ],
)
def test_a_trainer_that_gathers_so_many_is_found_at_its_first_update(facts, place):
    trainer = {"trainer_class": "Mine", "gradient_accumulation_steps": 2} | facts
    finding = only(backs(2), training=trainer, kind="AdamW")
    assert finding.severity is Severity.WARNING
    assert finding.evidence["reason"] == "trainer-loss"
    assert str(finding.place) == place


def test_a_trainer_that_gathers_another_number_is_a_loop_like_any_other():
    trainer = {"trainer_class": "Mine", "gradient_accumulation_steps": 8}
    finding = only(*[backs(4)] * 3, training=trainer)
    assert finding.evidence["reason"] == "not-divided"


def test_a_short_window_that_is_divided_like_the_others_is_information():
    finding = only(backs(4, 4), backs(4, 4), backs(2, 4))
    assert finding.evidence["reason"] == "short-window"
    assert finding.severity is Severity.INFO
    assert finding.first_step == 2


def test_what_an_epoch_left_over_counts_for_more_in_the_next_update():
    windows = [backs(4, 4), backs(4, 4), backs(6, 4)]
    finding = only(*windows)
    assert finding.evidence["reason"] == "long-window"
    assert finding.severity is Severity.WARNING
    assert finding.evidence["total_weight"] == 1.5
    assert finding.first_step == 2
    assert only(*windows, kind="AdamW").severity is Severity.INFO


def test_a_divisor_without_accumulation_is_information():
    finding = only(*[backs(1, 4)] * 8)
    assert finding.evidence["reason"] == "divided-alone"
    assert finding.severity is Severity.INFO
    assert report(*[backs(1, 4)] * 7).findings == ()
    assert report(*[backs(1, 4)] * 8, step=EARLY).findings == ()  # GRD005


def test_label_smoothing_and_an_auxiliary_loss_are_not_divisions():
    assert only(*[backs(4, weight=1.01, largest=1.0)] * 3)
    assert only(*[backs(4, weight=0.9)] * 3)


@pytest.mark.parametrize(
    "update",
    [
        backs(1),
        backs(4, 4),
        backs(4, weight=0.25),  # loss * 0.25
        backs(4, 4, 2, weight=0.25),  # the mean of two losses
        backs(4, 2, 4),  # half of each is meant
        backs(4, weight=3.0),
        (back(0, 60, weight=1 / 6), back(1, 60, weight=5 / 6)),
        backs(4, 2.5),
        backs(4, loss="sum"),
        (back(0), back(1, node="MseLoss"), back(2)),  # three tasks
        (back(0, times=4),),  # losses of one forward
        (back(0), back(0), back(0)),
        (("backward", "loss", {"micro": 0}), back(1), back(2)),
    ],
)
def test_other_weights_are_fine(update):
    assert report(*[update] * 9).findings == ()


def test_gradients_that_are_mended_by_hand_are_left_to_their_maker():
    after = {"grad_l2_after": 1.0}
    assert report(*[backs(4)] * 4, columns=after).findings == ()


def test_two_updates_are_not_enough_nor_a_few_of_many():
    assert report(*[backs(4)] * 2).findings == ()
    assert report(*[backs(4)] * 3, *[backs(4, 4)] * 4).findings == ()


def cut(*sizes, by=4):
    return [backs(size, by) for size in sizes]


@pytest.mark.parametrize("kind", ["SGD", "AdamW"])
@pytest.mark.parametrize(
    "updates",
    [
        cut(1, 1, 2, 1, 1, 2),
        cut(1, 2, 1, 1, 2, 1, 1),
        cut(1, 1, 1, 2, 1, 1, 1, 2, by=5),
        cut(1, 1, 2, 1, 1, 2, 1, 1, 1, 1, 2),  # an epoch of ten
    ],
)
def test_finds_updates_that_cut_the_mean_they_were_meant_for(updates, kind):
    finding = only(*updates, kind=kind)
    assert finding.evidence["reason"] == "never-that-many"
    assert finding.severity is Severity.WARNING
    assert str(finding.place) == "call optimizer.step"


@pytest.mark.parametrize(
    "updates",
    [
        cut(1, 1, 2, 1, 1),  # not yet twice
        cut(1, 1, 2, 1, 1, 2, 4),
        cut(2, 2, 2, 2, 2, 2),
        cut(1, 3, 2, 1, 1, 3),
        cut(1, 1, 1, 1, 1, 1, 1, 1),
        cut(1, 1, 1, 1, by=2),
        cut(1, 1, 2, 1, 1, 2, by=4.5),
        [*cut(1, 1, 2, 1, 1), backs(2, 4, weight=0.5)],
    ],
)
def test_updates_of_other_sizes_are_not_such_cuts(updates):
    found = report(*updates, kind="AdamW").findings
    assert all(each.severity is Severity.INFO for each in found)
