"""The debugger finds what is planted, and never stops a healthy twin."""

import doctest
import math
from collections import Counter
from typing import Any

import pytest
import torch
import transformers

import ftlab
from benchmarks.anomalies import case as case_module, generator, registry
from benchmarks.anomalies.case import Case, Line, Live, born_in, plant
from benchmarks.anomalies.generator import generate
from benchmarks.anomalies.registry import list_cases, load
from benchmarks.anomalies.score import differences

FOUND_NOW = list_cases()
SEEDS = range(100, 112)

old = int(transformers.__version__.partition(".")[0]) < 5


def by_id(cases: Any) -> list[Any]:
    """Make parameters of cases; those of libraries quote transformers 5."""
    made = []
    for case in cases:
        quotes = case.expected.line.number == 0
        marks = [
            pytest.mark.skipif(old and quotes, reason="it quotes transformers 5"),
        ]
        made.append(pytest.param(case, id=case.id, marks=marks))
    return made


def run(live: Live) -> Any:
    if live.trainer is not None:
        debugger = ftlab.debug(live.trainer)
    else:
        assert live.step is not None
        debugger = ftlab.debug(
            live.step, live.batches, model=live.model, optimizer=live.optimizer
        )
    with debugger:
        return debugger.run()


@pytest.mark.parametrize("case", by_id(FOUND_NOW))
def test_finds_the_op_the_module_and_the_line(case: Case):
    assert differences(run(case.build()), case.expected) == []


@pytest.mark.parametrize("case", by_id(list_cases()))
def test_a_healthy_twin_never_stops(case: Case):
    assert run(case.build(healthy=True)).state == "finished"


FIRST = 3
"""Of what is planted at random, so many are in the first ring."""


def in_rings(cases: list[Any]) -> list[Any]:
    """Leave all but the first to the slow ring."""
    rest = [
        pytest.param(*e.values, id=e.id, marks=[*e.marks, pytest.mark.slow])
        for e in cases[FIRST:]
    ]
    return cases[:FIRST] + rest


@pytest.mark.parametrize("case", in_rings(by_id(map(generate, SEEDS))))
def test_finds_what_is_planted_at_random(case: Case):
    assert differences(run(case.build(1)), case.expected) == []
    assert run(case.build(1, healthy=True)).state == "finished"


# -- the cases themselves


def is_broken(live: Live, name: str, kind: str) -> bool:
    parameter = dict(live.model.named_parameters())[name]
    optimizer = live.trainer.optimizer if live.trainer else live.optimizer
    optimizer = getattr(optimizer, "optimizer", optimizer)
    held = optimizer.state[parameter] if kind == "state" else {"": parameter}
    tensors = [value for value in held.values() if torch.is_tensor(value)]
    return not all(bool(tensor.isfinite().all()) for tensor in tensors)


@pytest.mark.parametrize(
    "case", by_id(c for c in list_cases("optimizer") if "trainer" not in c.uses)
)
def test_an_optimizer_breaks_its_parameter_in_the_step_that_is_told(case: Case):
    """A second, dumber look at what no debugger is asked about here."""
    live, expected = case.build(), case.expected
    assert live.step is not None
    micros = expected.micro_batch + 1
    good = live.batches[: expected.step * micros + expected.micro_batch]
    born_before = case.id == "nan-in-a-saved-optimizer"
    for batch in good:
        assert is_broken(live, expected.name, expected.kind) == born_before
        live.step(batch)
    assert is_broken(live, expected.name, expected.kind) == born_before
    live.step(live.batches[len(good)])
    assert is_broken(live, expected.name, expected.kind)


def test_a_state_breaks_three_steps_before_the_loss():
    live = load("own-state-three-steps-before").build()
    assert live.step is not None
    losses = [float(live.step(batch)) for batch in live.batches]
    assert [math.isfinite(loss) for loss in losses] == [True, True, True, False]


def test_there_are_enough_of_every_sort():
    cases = list_cases()
    assert len({case.id for case in cases}) == len(cases) >= 60
    assert sum(case.unmodified for case in cases) >= 25
    phases = Counter(case.expected.phase for case in cases)
    assert min(phases[phase] for phase in ("forward", "backward", "optimizer")) >= 8
    assert all(case.title.endswith(".") or ":" in case.title for case in cases)


@pytest.mark.parametrize("module", [case_module, generator, registry])
def test_its_examples_are_true(module: Any):
    assert doctest.testmod(module).failed == 0


def test_one_line_is_marked():
    def without() -> None:
        """Hold no mark."""

    with pytest.raises(ValueError, match="mark exactly one"):
        born_in(without)


def test_a_line_is_compared_by_text_where_it_may_move():
    here = "tests/replay/test_planted.py:1 test"
    text = '"""The debugger finds what is planted, and never stops a healthy twin."""'
    assert Line("test_planted.py", text).is_at(here)
    assert not Line("test_planted.py", text + "!").is_at(here)
    assert not Line("test_planted.py", text, 2).is_at(here)
    assert not Line("elsewhere.py", text).is_at(here)
    assert not Line("test_planted.py", text).is_at("")


def test_a_case_takes_its_place_from_its_builder():
    @plant("aten.log.default", module="", uses="a b")
    def some_case(seed: int, healthy: bool) -> Live:
        """Plant it."""
        raise NotImplementedError  # <- born here

    assert (some_case.id, some_case.title) == ("some-case", "Plant it.")
    assert (some_case.family, some_case.unmodified) == ("test_planted", False)
    assert some_case.expected.kind == "module"
    assert some_case.uses == {"a", "b"}
