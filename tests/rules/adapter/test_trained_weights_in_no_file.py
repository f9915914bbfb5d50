"""ADP055."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.rules.adapter.trained_weights_in_no_file import TrainedWeightsInNoFile
from tests.runs import RunBuilder, found_by, only

NOTHING = {"torn": [], "others": [], "moments": False, "empty": False, "whole": 0}
UPDATE = ("step", "optimizer 0", {})
SAVED = ("save", "model", {"kind": "adapter", "folder": "out"})


def write(**more):
    detail = {"has": 4, "of": 8, "left": ["q.lora_B"], "left_count": 4, "file": "a.pt"}
    return ("write", "model", NOTHING | detail | more)


def over(**more):
    return write(over=True, **more)


def check(*steps):
    builder = RunBuilder().facts(model={"peft": {"default": {}}})
    for ops in steps:
        builder.step(ops=[UPDATE, *ops])
    return found_by(TrainedWeightsInNoFile(), builder.run)


def reasons(*steps):
    return [(each.evidence["reason"], each.severity) for each in check(*steps)]


def test_names_the_file_and_what_is_in_none():
    finding = only(check([write(torn=["default"]), over(torn=["default"])]), "warning")
    assert finding.places == (Place("file", "a.pt"), Place("param", "q.lora_B"))
    assert "a.pt has 4 of 8 trained tensors, and no file has q.lora_B" in (
        finding.message
    )


@pytest.mark.parametrize(
    ("reason", "detail"),
    [
        ("torn", {"torn": ["default"]}),
        ("moments", {"moments": True}),
        ("other-adapter", {"has": 0, "others": ["reference"]}),
        ("empty", {"has": 0, "empty": True}),
    ],
)
def test_tells_at_the_end_what_was_left_out(reason, detail):
    found = reasons([write(**detail), over(**detail)])
    assert found == [(reason, Severity.WARNING)]


def test_weights_of_no_adapter_are_noted_only():
    assert reasons([over()]) == [("beside", Severity.INFO)]


def test_while_the_run_goes_on_the_rest_may_still_be_written():
    assert check([write(torn=["default"])], []) == ()
    assert check([write(has=0, others=["reference"])], []) == ()
    assert check([write(moments=True)], []) == ()


def test_an_empty_file_is_told_at_once_and_moments_at_the_second_step():
    empty, moments = write(has=0, empty=True), write(moments=True)
    assert reasons([empty], []) == [("empty", Severity.WARNING)]
    assert reasons([moments], [moments]) == [("moments", Severity.WARNING)]


def test_nothing_is_missing_once_all_of_it_was_written_or_saved():
    whole = {"has": 8, "left": [], "left_count": 0}
    assert check([write(torn=["default"])], [write(**whole), over(**whole)]) == ()
    assert check([SAVED], [over(torn=["default"])]) == ()


def test_a_base_that_was_written_alone_is_another_rules_matter():
    assert check([over(has=0, whole=21)]) == ()
