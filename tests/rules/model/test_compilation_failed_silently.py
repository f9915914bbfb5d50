"""MOD021: compiler errors that nobody has seen."""

import pytest

from ftlab.records.finding import Severity
from ftlab.records.names import NameRecord
from ftlab.rules.engine import Engine
from ftlab.rules.model.compilation_failed_silently import CompilationFailedSilently
from tests.runs import RunBuilder

META = {"kind": "failed", "error": "BackendCompilerFailed", "reason": "no gcc"}


def report(frames=(), compiled=0.0):
    builder = RunBuilder()
    builder.facts(model={"class": "Toy", "compilation": {"modules": [""]}})
    for row, (name, count) in enumerate(frames):
        meta = META | {"frames": count}
        table = "compilations"
        builder.run.append(NameRecord(row, table, name, "module", "", meta=meta))
    builder.step(values={"compiled_frames": compiled})
    return Engine([CompilationFailedSilently()]).check(builder.run).findings


def test_is_quiet_where_all_frames_are_compiled():
    assert report(compiled=3.0) == ()


@pytest.mark.parametrize(
    ("compiled", "severity"), [(0.0, Severity.WARNING), (2.0, Severity.INFO)]
)
def test_what_was_compiled_nevertheless_makes_it_a_remark(compiled, severity):
    (found,) = report([("a", 2), ("b", 1)], compiled)
    assert found.severity is severity
    assert found.evidence["failed"] == 3
    assert [str(p) for p in found.places] == [
        "config suppress_errors",
        "call torch.compile",
        "module a",
        "module b",
    ]
    assert "no gcc" in found.cause
