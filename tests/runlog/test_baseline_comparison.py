"""Each quantity is judged by its median, and the limit it has."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ftlab.runlog.baseline import Baseline
from ftlab.runlog.baseline_comparison import MiB, compare_to, rise, verdict_of

STEPS = 100


def made(seed: int = 0, **columns: Any) -> Baseline:
    draw = np.random.default_rng(seed)
    steps = np.arange(STEPS)
    values = {
        "loss": 3.0 - steps / STEPS + draw.normal(0, 0.02, STEPS),
        "skipped": np.zeros(STEPS),
        "seconds": 0.1 * draw.lognormal(0, 0.1, STEPS),
        "tokens_per_second": 1e4 * draw.lognormal(0, 0.1, STEPS),
        "memory": 500 * MiB + draw.normal(0, MiB, STEPS),
    }
    layers = {f"layers.{n}": draw.lognormal(0, 0.2, STEPS) for n in range(3)}
    return Baseline(
        steps,
        values | columns,
        layers,
        {"args/learning_rate": "0.1"},
        {"version": "1", "vocabulary": "x"},
        (4, 4),
    )


def states(baseline: Baseline, run: Baseline) -> dict[str, str]:
    return {e.name: e.state for e in compare_to(baseline, run) if e.state != "ok"}


@pytest.mark.parametrize("seed", range(20))
def test_another_draw_of_the_same_is_ok(seed: int) -> None:
    assert states(made(), made(seed)) == {}


BASE = made()


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"loss": BASE.columns["loss"] * 1.1}, {"loss": "worse"}),
        ({"loss": BASE.columns["loss"] * 0.8}, {}),
        ({"seconds": BASE.columns["seconds"] * 2}, {"step seconds": "worse"}),
        ({"seconds": BASE.columns["seconds"] / 9}, {}),
        (
            {"seconds": np.where(np.arange(STEPS) % 8, 0.1, 0.9)},
            {"slow steps": "worse"},
        ),
        (
            {"tokens_per_second": BASE.columns["tokens_per_second"] / 2},
            {"throughput": "worse"},
        ),
        ({"memory": BASE.columns["memory"] * 1.5}, {"memory": "worse"}),
        (
            {"memory": BASE.columns["memory"] + MiB * np.arange(STEPS)},
            {"memory growth": "worse"},
        ),
        (
            {"loss": 3.0 + np.random.default_rng(1).normal(-1.5, 0.2, STEPS)},
            {"loss noise": "worse"},
        ),
    ],
)
def test_what_is_worse_is_named(changes: dict[str, Any], found: dict[str, str]) -> None:
    told = states(BASE, made(**changes))
    assert {name: told.get(name) for name in found} == found
    assert told.keys() <= found.keys() | {"slow steps", "memory"}


def test_losses_that_are_not_finite_are_worse() -> None:
    loss = BASE.columns["loss"].copy()
    loss[50] = np.nan
    assert states(BASE, made(loss=loss)) == {"loss": "worse"}
    skipped = np.zeros(STEPS)
    skipped[50] = 1  # which a scaler has seen to
    assert states(BASE, made(loss=loss, skipped=skipped)) == {}


def test_a_layer_whose_gradients_are_others_is_named() -> None:
    layers = dict(BASE.layers)
    layers["layers.1"] = layers["layers.1"] * 5
    run = replace(BASE, layers=layers)
    (line,) = (e for e in compare_to(BASE, run) if e.state != "ok")
    assert (line.name, line.state, line.says) == (
        "gradients",
        "different",
        "layers.1 5.00 x",
    )


def test_the_reasons_are_in_words() -> None:
    run = replace(
        BASE,
        settings={"args/learning_rate": "0.2"},
        tokenizer={"version": "1", "vocabulary": "y"},
        checkpoints=(4, 3),
    )
    told = {e.name: (e.state, e.says) for e in compare_to(BASE, run)}
    assert told["settings"] == ("different", "learning_rate 0.1, now 0.2")
    assert told["tokenizer"] == ("different", "other vocabulary")
    assert told["checkpoints"] == ("worse", "3 of 4 verified, before 4 of 4")


def test_what_is_not_comparable_is_said() -> None:
    few = compare_to(BASE, BASE.at(np.arange(10)))
    assert verdict_of(few) == "not comparable"
    assert few[0].says == (
        "10 steps in common, 20 are needed: the baseline has steps 0 to 99, the run "
        "steps 0 to 9"
    )
    other = replace(BASE, layers={"blocks.0": BASE.layers["layers.0"]})
    assert verdict_of(compare_to(BASE, other)) == "not comparable"


def test_steps_that_only_one_has_count_nothing() -> None:
    longer = made()
    loss = longer.columns["loss"].copy()
    loss[60:] += 9
    longer = replace(longer, columns={**longer.columns, "loss": loss})
    assert states(longer.at(np.arange(60)), longer) == {}


def test_what_was_not_recorded_is_no_reason() -> None:
    nothing = np.full(STEPS, np.nan)
    run = made(loss=nothing, seconds=nothing, memory=nothing, tokens_per_second=nothing)
    run = replace(run, layers=dict.fromkeys(run.layers, nothing), settings={})
    base = replace(run, checkpoints=(0, 0), tokenizer={})
    lines = compare_to(base, base)
    assert {e.state for e in lines} == {"ok", "not recorded"}
    assert verdict_of(lines) == "ok"


def test_limits_can_be_passed() -> None:
    run = made(seconds=BASE.columns["seconds"] * 3)
    names = ("step seconds", "slow steps")
    loose = compare_to(BASE, run, dict.fromkeys(names, 4.0))
    assert verdict_of(loose) == "ok"
    assert verdict_of(compare_to(BASE, run)) == "worse"


def test_a_rise_is_that_of_a_line_whatever_stands_out() -> None:
    steps, draw = np.arange(0, 200, 2), np.random.default_rng(0)
    line = 10.0 + 0.5 * steps + draw.normal(0, 0.1, len(steps))
    line[draw.choice(len(steps), 10)] += 1e3
    assert rise(steps, line) == pytest.approx(0.5 * 198, rel=0.02)
    assert np.isnan(rise(np.arange(3), np.array([np.nan, np.nan, 1.0])))
