"""Runs that hold nothing but the facts of a real model, for rules about wiring."""

from ftlab.probes.model.model_facts import model_facts
from ftlab.records.facts import Facts
from ftlab.rules.engine import Engine
from ftlab.runlog.run import Run

OPTIMIZER = {"class": "AdamW", "groups": [], "foreign": [], "missing": []}


def wired(model, *, optimizers=(OPTIMIZER,)):
    """Return a run of which only the facts are known, as before the first step."""
    run = Run()
    run.append(Facts(model=model_facts(model), optimizers=optimizers))
    return run


def findings(rule, model, **settings):
    """Check the facts of ``model`` with one rule."""
    report = Engine([rule]).check(wired(model, **settings))
    assert report.not_checked == ()
    return report.findings
