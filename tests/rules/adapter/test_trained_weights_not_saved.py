"""ADP020."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.rules.adapter.trained_weights_not_saved import TrainedWeightsNotSaved
from tests.runs import RunBuilder, found_by, only, report_by

HEAD = "base_model.model.lm_head.weight"


def report(saving, peft=("default",), **others):
    builder = RunBuilder().facts(
        model={"peft": {key: {} for key in peft}, "saving": saving}, **others
    )
    return report_by(TrainedWeightsNotSaved(), builder.run)


def test_names_what_is_left_out():
    finding = only(report({"unsaved": [HEAD]}).findings, "info")
    assert finding.place == Place("param", HEAD)
    assert Place("config", "modules_to_save") in finding.places
    assert Place("file", "adapter keys") in finding.places
    assert "modules_to_save=['lm_head']" in finding.fix


@pytest.mark.parametrize(("strategy", "severity"), [("steps", 1), ("no", 0)])
def test_a_trainer_saves_by_peft_so_that_it_is_a_warning(strategy, severity):
    training = {"trainer_class": "Trainer", "args": {"save_strategy": strategy}}
    (finding,) = report({"unsaved": [HEAD]}, training=training).findings
    assert finding.severity == severity


@pytest.mark.parametrize(("kind", "severity"), [("adapter", 1), ("unread", 0)])
def test_a_save_that_was_seen_makes_it_a_warning(kind, severity):
    builder = RunBuilder().facts(
        model={"peft": {"default": {}}, "saving": {"unsaved": [HEAD]}}
    )
    builder.step(ops=[("save", "model", {"kind": kind})])
    (finding,) = found_by(TrainedWeightsNotSaved(), builder.run)
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


WHOLE = {"kind": "model", "folder": "out", "keys": 21}
OFF = ("unload", "adapters", {"call": "unload"})
MERGED = ("unload", "adapters", {"call": "merge_and_unload"})
UPDATE = ("step", "optimizer 0", {})


def without(*ops):
    builder = RunBuilder().facts(model={"peft": {"default": {}}, "saving": {}})
    builder.step(ops=ops)
    return found_by(TrainedWeightsNotSaved(), builder.run)


def save(**more):
    return ("save", "model", WHOLE | more)


def test_a_base_saved_with_the_adapter_on_it_is_an_error():
    (finding,) = without(UPDATE, save(inside=12, example="q.base_layer.weight"))
    assert finding.severity is Severity.ERROR
    assert finding.evidence["reason"] == "wrapped-base"
    assert finding.place == Place("call", "save_pretrained")
    assert "12 of 21 keys" in finding.message


def test_with_the_adapter_saved_as_well_it_is_a_warning():
    adapter = ("save", "model", {"kind": "adapter", "folder": "a"})
    only(without(save(inside=12, example="q.base_layer.weight"), adapter), "warning")


def test_an_adapter_that_was_taken_off_unmerged_is_lost():
    only(without(UPDATE, OFF, save()), place="call unload", reason="unloaded")


@pytest.mark.parametrize(
    "ops",
    [
        (UPDATE, save()),
        (UPDATE, MERGED, save()),
        (OFF, save()),
        (UPDATE, save(), OFF),
        (UPDATE, OFF, save(adapter_taken=True)),
        (UPDATE, OFF, save(base_changed=True)),
        (UPDATE, ("merge", "adapters", {}), OFF, save()),
        (UPDATE, ("save", "model", {"kind": "adapter"}), OFF, save()),
    ],
)
def test_a_whole_model_that_was_merged_or_an_adapter_kept_elsewhere_is_fine(ops):
    assert without(*ops) == ()


def saving_adapters(*saved, held="default", before=False, between=()):
    builder = RunBuilder().facts(model={"peft": {"default": {}}, "saving": {}})
    builder.lora("layers.0", adapter=held)
    saves = [("save", "model", KIND | {"adapters": names}) for names in saved]
    builder.step(ops=[*saves, UPDATE] if before else [UPDATE, *between, *saves])
    return found_by(TrainedWeightsNotSaved(), builder.run)


KIND = {"kind": "adapter", "folder": "a"}


def test_another_adapter_than_the_trained_one_was_saved():
    finding = only(saving_adapters(["reference"]), reason="other-adapter")
    assert "'default' was trained" in finding.message


def test_the_trained_one_among_all_saves_is_enough():
    assert saving_adapters(["reference"], ["default"]) == ()
    assert saving_adapters(["reference", "default"]) == ()
    assert saving_adapters(["reference"], before=True) == ()


def test_a_combination_of_the_trained_one_is_enough():
    made = {"call": "add_weighted_adapter", "adapters": "both"}
    between = [("add_adapter", "adapters", made)]
    assert saving_adapters(["both"], between=between) == ()
    assert saving_adapters(["reference"], between=between) != ()


def merged(*ops, held="default"):
    builder = RunBuilder().facts(model={"peft": {"default": {}, "old": {}}})
    builder.lora("layers.0", held)
    off = ("unload", "adapters", {"call": "merge_and_unload"})
    whole = ("save", "model", {"kind": "model", "folder": "out", "keys": 21})
    builder.step(ops=[("step", "optimizer 0", {}), *ops, off, whole])
    found = found_by(TrainedWeightsNotSaved(), builder.run)
    return [each.evidence.get("reason") for each in found]


def test_another_adapter_was_merged_than_was_trained():
    old = {"adapters": "old"}
    assert merged(("set_adapter", "adapters", old)) == ["other-merged"]
    assert merged() == []
    assert merged(("set_adapter", "adapters", old), held="old") == []
    assert merged(("set_adapter", "adapters", {"adapters": "default,old"})) == []
    assert merged(("set_adapter", "adapters", {"adapters": "new"})) == []


def test_an_adapter_that_was_made_of_the_trained_one_may_be_merged():
    made = ("add_adapter", "adapters", {"adapters": "default,old"})
    assert merged(made, ("set_adapter", "adapters", {"adapters": "old"})) == []
