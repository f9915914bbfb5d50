"""MOD020: compiled models that run eagerly all the same."""

import pytest

from ftlab.records.finding import Severity
from ftlab.records.names import NameRecord
from ftlab.rules.model.compiled_model_runs_eagerly import CompiledModelRunsEagerly
from tests.runs import RunBuilder, checker, healthy_lora, only, places

FAILED = {"kind": "failed", "error": "BackendCompilerFailed", "reason": "no gcc"}
LIMIT = {"kind": "limit", "guard": "self.calls == 7", "line": "toy.py:3"}


def compiled(modules=("",)):
    compilation = {"modules": list(modules), "graphs": 0}
    return RunBuilder().facts(model={"class": "Toy", "compilation": compilation})


check = checker(CompiledModelRunsEagerly())


def called(calls, modules=("",)):
    """``calls``: compiled and bypassed ones of each step."""
    builder = compiled(modules)
    for through, past in calls:
        builder.step(values={"compiled_calls": through, "bypassed_calls": past})
    return check(builder)


def noted(*frames, count=0.0):
    builder = compiled()
    for row, (name, meta) in enumerate(frames):
        record = NameRecord(
            row, "compilations", name, "module", "", meta=meta, since_step=0
        )
        builder.run.append(record)
    builder.step(values={"compiled_frames": count})
    return check(builder)


def test_is_left_out_where_nothing_is_compiled():
    assert not CompiledModelRunsEagerly().applies(healthy_lora().run)


def test_a_model_that_was_passed_by_at_every_step_is_found():
    only(called([(0, 1), (0, 2)]), place="call torch.compile", calls=3)


@pytest.mark.parametrize(
    "calls",
    [[(0, 1)], [(0, 1), (1, 0)], [(0, 1), (0, 0)], [(1, 1), (0, 1)]],
)
def test_one_compiled_call_or_too_few_steps_are_enough_to_be_quiet(calls):
    assert called(calls) == ()


def test_parts_that_are_compiled_for_themselves_may_do_the_work():
    assert called([(0, 1)] * 3, modules=["", "layers.0"]) == ()


def test_is_quiet_where_all_frames_are_compiled():
    assert noted(count=3.0) == ()


@pytest.mark.parametrize(
    ("count", "severity"), [(0.0, Severity.WARNING), (2.0, Severity.INFO)]
)
def test_what_was_compiled_nevertheless_makes_it_a_remark(count, severity):
    frames = ("a", FAILED | {"frames": 2}), ("b", FAILED | {"frames": 1})
    found = only(noted(*frames, count=count), severity.label, failed=3)
    assert places(found) == [
        "config suppress_errors",
        "call torch.compile",
        "module a",
        "module b",
    ]
    assert "no gcc" in found.cause


def test_names_the_module_the_guard_and_its_line_where_the_limit_is_reached():
    found = only(noted(("inner", LIMIT)), place="module inner")
    assert "self.calls == 7 (toy.py:3)" in found.message
    assert found.first_step == 0
