"""Each quantity is judged by its median, and the factor that it may be off."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ftlab.runlog.baseline import GRADIENT, Baseline
from ftlab.runlog.baseline_comparison import NO_WORSE, compare_to, rise, verdict_of

STEPS = 100
MiB = 2**20


def made(seed: int = 0, **columns: Any) -> Baseline:
    draw = np.random.default_rng(seed)
    steps = np.arange(STEPS)
    values = {
        "loss": 3.0 - steps / STEPS + draw.normal(0, 0.02, STEPS),
        "seconds": 0.1 * draw.lognormal(0, 0.1, STEPS),
        "tokens_per_second": 1e4 * draw.lognormal(0, 0.1, STEPS),
        "memory": 500 * MiB + draw.normal(0, MiB, STEPS),
        "idle": 300 * MiB + draw.normal(0, MiB, STEPS),
        "rows": np.full(STEPS, 4.0),
        "tokens": 512 * draw.lognormal(0, 0.1, STEPS),
    }
    for n in range(3):
        values[f"{GRADIENT}layers.{n}"] = draw.lognormal(0, 0.2, STEPS)
    settings = {"args/learning_rate": "0.1"}
    return Baseline(steps, values | columns, settings, {"vocabulary": "x"}, 1.0)


def part(baseline: Baseline, steps: Any) -> Baseline:
    return replace(baseline, steps=np.array(steps), columns=baseline.at(steps))


def states(baseline: Baseline, run: Baseline) -> dict[str, str]:
    found = [e for e in compare_to(baseline, run) if e.state != "holds"]
    words = {"broken": "different", "does not apply": "not recorded"}
    return {
        e.name: "worse"
        if (e.state, e.relation) == ("broken", NO_WORSE)
        else words.get(e.state, e.state)
        for e in found
    }


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
            {"idle": BASE.columns["idle"] + MiB * np.arange(STEPS)},
            {"memory growth": "worse"},
        ),
        (
            {"loss": 3.0 + np.random.default_rng(1).normal(-1.5, 0.2, STEPS)},
            {"loss noise": "different"},
        ),
        (
            {f"{GRADIENT}layers.1": BASE.columns[f"{GRADIENT}layers.1"] * 5},
            {"gradients": "different"},
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
    assert states(BASE, made(loss=loss)) == {"finite losses": "worse"}
    assert states(made(loss=loss), made(loss=loss)) == {}


def test_the_reasons_are_in_words() -> None:
    run = replace(
        made(**{f"{GRADIENT}layers.1": BASE.columns[f"{GRADIENT}layers.1"] * 5}),
        settings={"args/learning_rate": "0.2", "groups/0/lr": "0.2"},
        tokenizer={"vocabulary": "y"},
        checkpoints=0.75,
    )
    base = replace(BASE, settings={"args/learning_rate": "0.1", "groups/0/lr": "0.1"})
    told = {e.name: e.says for e in compare_to(base, run) if e.state == "broken"}
    assert told == {
        "settings": "learning_rate 0.1, now 0.2",
        "tokenizer": "vocabulary",
        "gradients": "layers.1 5.00 x (2 x is allowed)",
        "checkpoints": "1, now 0.75, 0.75 x (1 x is allowed)",
    }
    assert verdict_of(compare_to(base, run)) == "worse"


def test_numbers_have_units_and_say_where_to_look() -> None:
    slow, large = BASE.columns["seconds"] * 4, BASE.columns["memory"] * 4
    grown = BASE.columns["idle"] * (1 + np.arange(STEPS) / STEPS)
    for columns, name, words, look in (
        ({"seconds": slow}, "step seconds", " s, now ", ".time"),
        ({"memory": large}, "memory", "MiB, now 1.96 GiB, 4.00 x", ".memory"),
        ({"idle": grown}, "memory growth", "%, now +5", ".findings"),
    ):
        outcomes = compare_to(BASE, made(**columns))
        (told,) = (each for each in outcomes if each.name == name)
        assert words in told.says
        assert look in told.fix


def test_what_is_not_comparable_is_said() -> None:
    few = compare_to(BASE, part(BASE, range(10)))
    assert verdict_of(few) == "not comparable"
    assert few[0].says == "10 steps in common, 20 are needed"
    columns = {n: v for n, v in BASE.columns.items() if "layers.2" not in n}
    other = compare_to(BASE, replace(BASE, columns=columns))
    assert verdict_of(other) == "not comparable"
    assert other[0].says == "only one has the gradient of layers.2: another model"


def test_steps_that_only_one_has_count_nothing() -> None:
    loss = BASE.columns["loss"].copy()
    loss[60:] += 9
    assert states(part(BASE, range(60)), made(loss=loss)) == {}


def test_other_rows_and_tokens_make_it_another_run() -> None:
    rows, tokens = np.full(STEPS, 4.0), np.full(STEPS, 512.0)
    base = made(rows=rows, tokens=tokens)
    kept = {n: v for n, v in base.columns.items() if n not in ("rows", "tokens")}
    assert states(base, made(rows=rows * 2, tokens=tokens / 4)) == {
        "rows per step": "different",
        "tokens per step": "different",
    }
    assert states(base, made(rows=rows, tokens=tokens * 2)) == {}
    older = states(
        replace(base, columns=kept), base
    )  # a file of an earlier version has neither
    assert older == {
        "rows per step": "not recorded",
        "tokens per step": "not recorded",
    }


@pytest.mark.parametrize("at", range(12, 98, 5))
def test_a_leak_is_seen_beside_one_fall(at: int) -> None:
    leak = 200 * MiB + 0.78 * MiB * np.arange(STEPS)
    leak[20:] -= MiB
    leak[at:] -= 60 * MiB
    assert states(BASE, made(idle=leak)) == {"memory growth": "worse"}


def test_what_is_collected_now_and_then_is_no_leak() -> None:
    garbage = 200 * MiB + 2 * MiB * (np.arange(STEPS) % 22)
    assert states(BASE, made(idle=garbage)) == {}


def test_why_something_is_not_compared_is_true() -> None:
    def says(base: Baseline, run: Baseline, name: str) -> str:
        return next(e.says for e in compare_to(base, run) if e.name == name)

    late = BASE.columns["loss"].copy()
    late[STEPS // 2 :] = np.nan
    unknown = made(rows=np.full(STEPS, np.nan))
    none = "no finite values among the compared steps of"
    assert says(BASE, made(loss=late), "loss") == f"{none} the run"
    assert says(made(loss=late), BASE, "loss") == f"{none} the baseline"
    assert says(unknown, unknown, "rows per step") == f"{none} the baseline and the run"
    unsaved = replace(BASE, checkpoints=float("nan"))
    assert says(BASE, unsaved, "checkpoints") == "no saves of the run"
    few = part(BASE, range(3))
    assert says(BASE, few, "loss") == "3 steps in common, 20 are needed"
    flat = made(loss=np.zeros(STEPS))
    assert says(flat, BASE, "loss noise") == "0 or less in the baseline"


def test_what_was_not_recorded_is_no_reason() -> None:
    nothing = np.full(STEPS, np.nan)
    run = replace(
        made(**dict.fromkeys(BASE.columns, nothing)),
        settings={},
        tokenizer={},
        checkpoints=float("nan"),
    )
    lines = compare_to(run, run)
    assert {e.state for e in lines} == {"holds", "does not apply"}
    assert verdict_of(lines) == "ok"


def test_limits_can_be_passed() -> None:
    run = made(seconds=BASE.columns["seconds"] * 3)
    names = ("step seconds", "slow steps")
    loose = compare_to(BASE, run, dict.fromkeys(names, 4.0))
    assert verdict_of(loose) == "ok"
    assert verdict_of(compare_to(BASE, run)) == "worse"


def test_a_rise_is_that_of_a_line_whatever_stands_out() -> None:
    steps, draw = np.arange(0, 200, 2), np.random.default_rng(0)
    line = 100.0 + 0.5 * steps + draw.normal(0, 0.1, len(steps))
    middle = float(np.median(line))
    line[draw.choice(len(steps), 10)] += 1e3
    assert rise(steps, line) == pytest.approx(0.5 * 198 / middle, rel=0.1)
    assert np.isnan(rise(np.arange(3), np.array([np.nan, np.nan, 1.0])))
