"""Notes that the arguments of a run make sure to come true."""

import dataclasses

import pytest
import torch

from ftlab.records.finding import Finding, Place, Severity
from ftlab.rules.report import Report
from ftlab.session.preflight.foreseen import foreseen, supposed
from ftlab.session.preflight.preflight import preflight
from tests.models import tiny_4bit

NOTE = Finding(
    code="MOD001",
    name="weights-packed-for-inference",
    severity=Severity.INFO,
    message="14 weights will be packed by the first forward in eval mode",
    cause="This CPU packs.",
    fix="Switch it off.",
    places=(Place("config", "support_avx512bf16_for_cpu"),),
    first_step=0,
    last_step=0,
)


def severity(note, args):
    (finding,) = foreseen(Report((note,)), args).findings
    return finding.severity


@pytest.mark.parametrize("strategy", ["steps", "epoch"])
def test_a_planned_evaluation_makes_the_note_a_warning(strategy):
    (finding,) = foreseen(Report((NOTE,)), {"eval_strategy": strategy}).findings
    assert finding.severity is Severity.WARNING
    assert f"eval_strategy={strategy!r} plans one" in finding.message


@pytest.mark.parametrize("args", [{}, {"eval_strategy": "no"}])
def test_a_run_that_never_evaluates_is_only_told(args):
    assert severity(NOTE, args) is Severity.INFO


def test_notes_of_other_rules_and_what_is_worse_already_stay():
    other = dataclasses.replace(NOTE, code="ADP029")
    worse = dataclasses.replace(NOTE, severity=Severity.ERROR)
    assert severity(other, {"eval_strategy": "steps"}) is Severity.INFO
    assert severity(worse, {"eval_strategy": "steps"}) is Severity.ERROR


def test_only_what_supposes_training_is_noted_where_none_was_handed_over():
    bad = dataclasses.replace(NOTE, severity=Severity.ERROR)
    trained = dataclasses.replace(bad, code="MOD002")
    kept, noted = supposed(Report((bad, trained))).findings
    assert (kept.severity, noted.severity) == (Severity.ERROR, Severity.INFO)


def test_a_quantised_model_alone_may_be_one_that_is_only_used(tmp_path):
    pytest.importorskip("bitsandbytes")
    model = tiny_4bit(tmp_path)
    batch = {"input_ids": torch.ones(2, 8, dtype=torch.long)}
    batch["labels"] = batch["input_ids"]
    assert preflight(model, batch=batch).ok
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained)
    checklist = preflight(model, batch=batch, optimizer=optimizer)
    assert "MOD002" in {item.code for item in checklist.failed}
