"""ADP020."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.rules.adapter.trained_weights_not_saved import TrainedWeightsNotSaved
from ftlab.rules.engine import Engine
from tests.runs import RunBuilder, healthy_lora

HEAD = "base_model.model.lm_head.weight"


def report(saving, peft=("default",), **others):
    builder = RunBuilder().facts(
        model={"peft": {key: {} for key in peft}, "saving": saving}, **others
    )
    return Engine([TrainedWeightsNotSaved()]).check(builder.run)


def test_is_quiet_on_a_healthy_run():
    assert Engine([TrainedWeightsNotSaved()]).check(healthy_lora().run).findings == ()


def test_names_what_is_left_out():
    (finding,) = report({"unsaved": [HEAD]}).findings
    assert finding.severity is Severity.INFO
    assert finding.place == Place("param", HEAD)
    assert Place("config", "modules_to_save") in finding.places
    assert Place("file", "adapter keys") in finding.places
    assert "modules_to_save=['lm_head']" in finding.fix


def test_a_trainer_saves_by_peft_so_that_it_is_a_warning():
    training = {"trainer_class": "Trainer"}
    (finding,) = report({"unsaved": [HEAD]}, training=training).findings
    assert finding.severity is Severity.WARNING


@pytest.mark.parametrize(("kind", "severity"), [("adapter", 1), ("unread", 0)])
def test_a_save_that_was_seen_makes_it_a_warning(kind, severity):
    builder = RunBuilder().facts(
        model={"peft": {"default": {}}, "saving": {"unsaved": [HEAD]}}
    )
    builder.step(ops=[("save", "model", {"kind": kind})])
    (finding,) = Engine([TrainedWeightsNotSaved()]).check(builder.run).findings
    assert finding.severity == severity


def test_what_no_optimizer_trains_is_not_lost():
    held = ({"class": "AdamW", "missing": [HEAD]},)
    assert report({"unsaved": [HEAD]}, optimizers=held).findings == ()


def test_what_depends_on_an_unknown_base_is_not_checked():
    (entry,) = report({"unsaved": [], "undecided": [HEAD]}).not_checked
    assert "vocabulary" in entry.reason
    assert "save_embedding_layers=True" in entry.record


def test_a_full_fine_tune_is_left_out():
    assert report({"unsaved": [HEAD]}, peft=()).findings == ()
