"""ADP028."""

import pytest

from ftlab.records.finding import Place
from ftlab.rules.adapter.incomplete_adapter_file import IncompleteAdapterFile
from tests.runs import RunBuilder, found_by, only, report_by

GOOD = {
    "kind": "adapter",
    "folder": "checkpoint-1",
    "keys": 8,
    "renamed": 0,
    "b": 4,
    "zero_b": 0,
    "live_zero_b": 0,
    "broken": [],
    "shapeless": [],
    "unsaved": [],
}


def report(file=None, saves=(), unsaved=(), adapters=("d",)):
    start = {} if file is None else {"file": {"folder": "a", "problems": []} | file}
    peft = {name: {} for name in adapters}
    model = {"peft": peft, "start": start, "saving": {"unsaved": list(unsaved)}}
    builder = RunBuilder().facts(model=model)
    for save in saves:
        builder.step(ops=[("save", "model", GOOD | save)])
    return report_by(IncompleteAdapterFile(), builder.run)


def reasons(**case):
    return [each.evidence["reason"] for each in report(**case).findings]


def test_a_good_file_and_a_good_save_are_fine():
    file = {"keys": 8, "b": 4, "zero_b": 0, "absent": [], "unread": [], "broken": []}
    assert reasons(file=file, saves=[{}]) == []


@pytest.mark.parametrize(
    ("save", "reason"),
    [
        ({"keys": 0}, "empty"),
        ({"shapeless": ["a"]}, "empty"),
        ({"broken": ["a"]}, "not-finite"),
        ({"zero_b": 4}, "zero"),
        ({"unsaved": ["model.head.weight"]}, "absent"),
    ],
)
def test_says_what_is_wrong_with_a_save(save, reason):
    finding = only(report(saves=[{}, save]).findings, place="file adapter keys")
    assert finding.evidence["reason"] == reason
    assert "saved to checkpoint-1" in finding.message
    assert finding.first_step == 1


def test_an_adapter_that_is_zero_itself_was_saved_as_it_is():
    assert reasons(saves=[{"zero_b": 4, "live_zero_b": 4}]) == []


def test_what_was_foreseen_or_renamed_is_another_rules_matter():
    left = {"unsaved": ["model.head.weight"]}
    assert reasons(saves=[left], unsaved=["model.head.weight"]) == []
    assert reasons(saves=[left | {"renamed": 4}]) == []


def test_whole_models_are_not_judged():
    assert reasons(saves=[{"kind": "model", "keys": 0}]) == []


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ({"broken": ["a"]}, "not-finite"),
        ({"b": 4, "zero_b": 4}, "zero"),
        ({"absent": ["model.head.weight"]}, "absent"),
        ({"problems": ["full model"]}, "no-adapter"),
        ({"problems": ["unreadable weights"]}, "unreadable"),
    ],
)
def test_says_what_is_wrong_with_the_file_it_came_from(file, reason):
    assert reasons(file=file) == [reason]


def test_names_the_parameter_that_the_file_lacks():
    (finding,) = report(file={"absent": ["model.head.weight"]}).findings
    assert Place("param", "model.head.weight") in finding.places
    assert Place("config", "modules_to_save") in finding.places


def test_keys_that_are_not_read_are_another_rules_matter():
    assert reasons(file={"absent": ["a"], "unread": ["b"]}) == []


@pytest.mark.parametrize(
    ("problem", "reason"), [("pickled", "a pickle"), ("gone", "does not exist")]
)
def test_what_cannot_be_read_is_not_checked(problem, reason):
    outcome = report(file={"problems": [problem]})
    assert outcome.findings == ()
    assert reason in outcome.not_checked[0].reason


def test_keys_in_a_module_that_another_adapter_is_called_like():
    left = ["layers.0.q_proj.lora_A.style.weight"]
    assert reasons(saves=[{"unsaved": left}], adapters=["style"]) == ["absent"]
    two = ["q_proj", "style"]
    assert reasons(saves=[{"unsaved": left}], adapters=two) == ["adapter-name"]


def test_an_adapter_that_was_merged_away_before_it_was_saved():
    builder = RunBuilder().facts(model={"peft": {"d": {}}})
    off = ("unload", "adapters", {"call": "merge_and_unload"})
    builder.step(ops=[off, ("save", "model", GOOD | {"keys": 0})])
    finding = only(found_by(IncompleteAdapterFile(), builder.run), reason="merged-away")
    assert "Use what merge_and_unload returns" in finding.fix
    places = {str(place) for place in finding.places}
    assert {"call merge_and_unload", "call save_pretrained"} < places
    assert "file adapter_model.safetensors" in places


@pytest.mark.parametrize(
    ("save", "unloaded_first", "reason"),
    [({"keys": 0}, False, "empty"), ({"broken": ["a"]}, True, "not-finite")],
)
def test_what_was_wrong_before_it_was_merged_has_another_cause(
    save, unloaded_first, reason
):
    builder = RunBuilder().facts(model={"peft": {"d": {}}})
    ops = [("unload", "adapters", {}), ("save", "model", GOOD | save)]
    builder.step(ops=ops if unloaded_first else ops[::-1])
    only(found_by(IncompleteAdapterFile(), builder.run), reason=reason)


def test_a_folder_below_holds_the_adapter_that_was_trained():
    file = {"keys": 8, "b": 4, "zero_b": 4, "below": ["sql"]}
    finding = only(report(file=file).findings, reason="other-in-root")
    assert "in the subfolder sql are not" in finding.message
    assert reasons(file=file | {"zero_b": 0}) == []


def test_an_older_file_beside_the_one_that_was_saved():
    detail = {"kind": "adapter", "folder": "a", "keys": 8, "outdated": True}
    builder = RunBuilder().facts(model={"peft": {"default": {}}})
    builder.step(ops=[("save", "model", detail)])
    only(found_by(IncompleteAdapterFile(), builder.run), reason="outdated")
