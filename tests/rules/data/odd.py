"""Runs of whose batches something odd was told."""

from ftlab.records.batch_facts import Oddity, SeenBatches
from ftlab.records.event import Event
from tests.runs import RunBuilder, found_by


def run_of(*told, losses=(2.0, 2.0), values=None):
    """A run of some steps; ``told`` are pairs of a step and what was odd in it."""
    builder = RunBuilder().facts(model={"class": "Llama"})
    for loss in losses:
        builder.step(micro_batches=1, loss=loss, grad_norm=1.0, values=values or {})
    last = len(losses) - 1
    seen = [SeenBatches(0)] + [SeenBatches(step, (odd,)) for step, odd in told]
    for each in seen:
        late = each.step > last
        detail = each.as_json() | {"unfinished": late}
        step = min(each.step, max(last, 0))
        builder.run.append(Event("batch", step, 0.0, "", detail))
    return builder.run


def found(rule, *told, **settings):
    return found_by(rule, run_of(*told, **settings))


def odd(kind, field="input_ids", **settings):
    given = {"micro_batch": 0, "row": 1, "position": 4, "rows": 2} | settings
    return Oddity(kind, field, **given)
