"""Every formula gives what the library itself computes, step by step."""

import warnings

import numpy as np
import pytest
import torch
from torch.optim import lr_scheduler
from transformers import TrainingArguments, get_scheduler

from ftlab.probes.optimizer.optimizer_facts import scheduler_facts
from ftlab.records.rate_formulas import asked_rates
from ftlab.records.trainer_schedule import trainer_schedule
from ftlab.session.integrations.transformers import argument_facts

LR = lr_scheduler

STEPS = 60
WARMUP = {"num_warmup_steps": 7, "num_training_steps": 40}

TRANSFORMERS = [
    ("linear", WARMUP, {}),
    ("linear", {"num_warmup_steps": 50, "num_training_steps": 40}, {}),
    ("linear", {"num_warmup_steps": 0, "num_training_steps": 40}, {}),
    ("cosine", WARMUP, {}),
    ("cosine", WARMUP, {"num_cycles": 1.5}),
    ("cosine_with_restarts", WARMUP, {"num_cycles": 3}),
    ("cosine_with_min_lr", WARMUP, {"min_lr": 0.01}),
    ("cosine_with_min_lr", WARMUP, {"min_lr_rate": 0.2}),
    ("cosine_warmup_with_min_lr", WARMUP, {"min_lr_rate": 0.2}),
    (
        "cosine_warmup_with_min_lr",
        WARMUP,
        {"min_lr_rate": 0.2, "warmup_lr_rate": 0.3},
    ),
    ("polynomial", WARMUP, {"power": 2.0, "lr_end": 0.003}),
    ("constant", {}, {}),
    ("constant_with_warmup", {"num_warmup_steps": 7}, {}),
    ("inverse_sqrt", WARMUP, {}),
    ("inverse_sqrt", WARMUP, {"timescale": 20}),
    ("warmup_stable_decay", WARMUP, {"num_decay_steps": 10}),
    *(
        (
            "warmup_stable_decay",
            WARMUP,
            {
                "num_decay_steps": 10,
                "warmup_type": kind,
                "decay_type": kind,
                "min_lr_ratio": 0.1,
            },
        )
        for kind in ("linear", "cosine", "1-sqrt")
    ),
]

TORCH = {
    "line": lambda o: LR.LinearLR(o, 0.1, 0.8, total_iters=9),
    "constant": lambda o: LR.ConstantLR(o, 0.25, total_iters=9),
    "power": lambda o: LR.PolynomialLR(o, total_iters=30, power=1.7),
    "wave": lambda o: LR.CosineAnnealingLR(o, T_max=13, eta_min=0.002),
    "short wave": lambda o: LR.CosineAnnealingLR(o, T_max=1),
    "restarts": lambda o: LR.CosineAnnealingWarmRestarts(o, 9, eta_min=0.002),
    "longer restarts": lambda o: LR.CosineAnnealingWarmRestarts(o, 5, T_mult=3),
    "stairs": lambda o: LR.StepLR(o, 11, gamma=0.3),
    "uneven": lambda o: LR.MultiStepLR(o, [5, 9, 9, 31], gamma=0.3),
    "shares": lambda o: LR.MultiStepLR(o, [0.5, 5], gamma=0.3),
    "exponential": lambda o: LR.ExponentialLR(o, 0.93),
    "one cycle": lambda o: LR.OneCycleLR(o, [0.5, 0.7], total_steps=STEPS),
    "one cycle in three": lambda o: LR.OneCycleLR(
        o, 0.5, total_steps=STEPS, three_phase=True, anneal_strategy="linear"
    ),
    "warmed wave": lambda o: LR.SequentialLR(
        o,
        [LR.LinearLR(o, 0.1, total_iters=6), LR.CosineAnnealingLR(o, 40)],
        [6],
    ),
    "three in turn": lambda o: LR.SequentialLR(
        o,
        [
            LR.ConstantLR(o, 0.5, total_iters=20),
            LR.CosineAnnealingWarmRestarts(o, 7, T_mult=2),
            LR.ExponentialLR(o, 0.9),
        ],
        [6, 33],
    ),
    "of transformers in turn": lambda o: LR.SequentialLR(
        o, [get_scheduler("cosine", o, 3, 20), get_scheduler("constant", o)], [15]
    ),
}


def an_optimizer():
    groups = [
        {"params": [torch.nn.Parameter(torch.zeros(1))], "lr": rate}
        for rate in (0.05, 0.002)
    ]
    return torch.optim.SGD(groups, lr=0.05, momentum=0.9)


def real(optimizer, schedule):
    """Return the rates that the library sets, at each step."""
    rates = []
    for _ in range(STEPS):
        rates.append([group["lr"] for group in optimizer.param_groups])
        optimizer.step()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            schedule.step()
    return np.array(rates)


def agrees(optimizer, schedule):
    (facts,) = scheduler_facts([schedule], [optimizer])
    base = [group["initial_lr"] for group in optimizer.param_groups]
    found = asked_rates(facts, base, STEPS)
    assert found is not None
    np.testing.assert_allclose(found, real(optimizer, schedule), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("name", "sizes", "more"), TRANSFORMERS)
def test_computes_the_schedules_of_transformers(name, sizes, more):
    optimizer = an_optimizer()
    agrees(
        optimizer,
        get_scheduler(name, optimizer, **sizes, scheduler_specific_kwargs=more),
    )


@pytest.mark.parametrize("make", TORCH.values(), ids=TORCH)
def test_computes_the_schedules_of_torch(make):
    optimizer = an_optimizer()
    agrees(optimizer, make(optimizer))


@pytest.mark.parametrize(
    "make",
    [
        lambda o: LR.LambdaLR(o, lambda step: 0.9**step),
        lambda o: LR.LambdaLR(o, [lambda _: 1.0, lambda _: 0.5]),
        LR.ReduceLROnPlateau,
        lambda o: LR.CyclicLR(o, 0.01, 0.1),
        lambda o: LR.ChainedScheduler([LR.ExponentialLR(o, 0.9), LR.StepLR(o, 5)]),
        lambda o: LR.SequentialLR(
            o, [LR.LambdaLR(o, lambda _: 1.0), LR.ExponentialLR(o, 0.9)], [5]
        ),
    ],
    ids=["function", "functions", "plateau", "cyclic", "chain", "function in turn"],
)
def test_says_nothing_of_schedules_that_it_cannot_know(make):
    optimizer = an_optimizer()
    (facts,) = scheduler_facts([make(optimizer)], [optimizer])
    assert asked_rates(facts, [0.05, 0.002], STEPS) is None


def test_a_cycle_that_is_over_has_no_rate():
    optimizer = an_optimizer()
    schedule = LR.OneCycleLR(optimizer, 0.5, total_steps=10)
    (facts,) = scheduler_facts([schedule], [optimizer])
    found = asked_rates(facts, schedule.base_lrs, 14)
    assert np.isnan(found).all(axis=1).tolist() == [False] * 11 + [True] * 3


def test_facts_of_an_older_run_give_nothing():
    assert asked_rates({"class": "OneCycleLR", "asked": {}}, [0.1], 5) is None
    assert asked_rates({"class": "LinearLR"}, [0.1], 5) is None
    assert asked_rates({}, [0.1], 5) is None


@pytest.mark.parametrize("name", ["linear", "cosine", "constant"])
@pytest.mark.parametrize("warmup", [0, 5, 0.31])
def test_reads_the_plan_of_a_trainer_from_its_arguments(tmp_path, name, warmup):
    args = TrainingArguments(
        str(tmp_path), lr_scheduler_type=name, warmup_steps=warmup, use_cpu=True
    )
    optimizer = an_optimizer()
    schedule = get_scheduler(name, optimizer, args.get_warmup_steps(30), 30)
    asked = trainer_schedule({"args": argument_facts(args), "max_steps": 30})
    found = asked_rates(asked, schedule.base_lrs, STEPS)
    np.testing.assert_allclose(found, real(optimizer, schedule), atol=1e-12)


def test_knows_no_plan_without_a_trainer_or_of_another_kind():
    args = {"lr_scheduler_type": "polynomial"}
    assert trainer_schedule({}) is None
    assert trainer_schedule({"args": args, "max_steps": 30}) is None
    assert trainer_schedule({"args": {"lr_scheduler_type": "linear"}}) is None
