"""What print(run) shows."""

from pathlib import Path

from ftlab.records.finding import Finding, Place, Severity
from ftlab.records.step import StepRecord
from ftlab.runlog.codec import finding_event
from ftlab.runlog.run import Run
from tests.runlog.sample import block


def test_an_empty_run_says_so():
    assert repr(Run()) == (
        "Run: no step yet\ntables: steps\nfindings: none\nlog: in memory only"
    )


def test_a_run_says_steps_loss_tables_findings_and_where():
    run = Run("runs/a", {"ended": "finished"})
    run.append(block(7, grad_l2=[1.0] * 3))
    run.append(StepRecord(7, 0.0, loss=2.0))
    assert repr(run).startswith("Run: 1 step (7)\nloss: 2 at first, 2 at last\n")
    run.append(StepRecord(8, 0.0, loss=float("nan")))
    place = (Place("object", "loss"),)
    found = Finding("NUM001", "n", Severity.ERROR, "m", "c", "f", place, 8, 8)
    run.append(finding_event(found, 0.0))
    assert repr(run) == (
        "Run: 2 steps (7-8)\n"
        "loss: 2 at first, nan at last\n"
        "tables: steps, tensors\n"
        "findings: NUM001\n"
        f"log: {Path('runs/a')}, finished"
    )
    assert repr(run.window(0, 8)).startswith("Run: 1 step (7)\n")
