"""ADP006."""

import numpy as np
import pytest
import torch

from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, base, batches, lora
from ftlab.faults.fault import Case
from ftlab.records.finding import Severity
from ftlab.rules.adapter.base_drifts_by_merging import DRIFT, BaseDriftsByMerging
from ftlab.rules.engine import Engine
from ftlab.session.score import record
from tests.runs import healthy_lora


def report(run):
    return Engine([BaseDriftsByMerging()]).check(run)


def cycling(dtype, cycles, steps=10):
    """Merge and unmerge after each of the first steps."""
    model = lora(base().to(dtype))
    optimizer = adamw(model, lr=1e-2)
    train = plain_step(model, optimizer)

    def step(batch):
        loss = train(batch)
        if len(case.losses) < cycles:
            model.merge_adapter()
            model.unmerge_adapter()
        return loss

    case = Case(model, optimizer, batches(), step)
    return model, record(case, steps)


def test_is_quiet_on_a_healthy_run():
    assert report(healthy_lora().run).findings == ()


def test_is_quiet_on_cycles_in_float32():
    _, run = cycling(torch.float32, 10)
    assert "frozen" in run.tables()
    assert report(run).findings == ()


@pytest.mark.parametrize(
    ("cycles", "severity"), [(1, Severity.INFO), (2, Severity.WARNING)]
)
def test_one_cycle_in_bf16_is_noted_and_two_are_a_warning(cycles, severity):
    _, run = cycling(torch.bfloat16, cycles)
    (finding,) = report(run).findings
    assert finding.severity is severity
    assert finding.evidence["cycles"] == cycles
    assert finding.evidence["change"] > DRIFT


def test_every_base_weight_is_named_and_the_change_is_the_true_one():
    twin = lora(base().bfloat16())
    before = {name: weight.detach() for name, weight in twin.named_parameters()}
    model, run = cycling(torch.bfloat16, 10)
    (finding,) = report(run).findings
    bases = {n: p for n, p in model.named_parameters() if "base_layer" in n}
    assert {p.name for p in finding.places if p.kind == "param"} == set(bases)
    true = max(
        float((weight - before[name]).abs().max() / before[name].abs().float().mean())
        for name, weight in bases.items()
    )
    # The sample holds every sixteenth element, and its mean is its own.
    assert finding.evidence["change"] == pytest.approx(true, rel=0.7)
    assert np.isfinite(finding.evidence["change"])
