"""ADP025."""

import pytest

from ftlab.records.finding import Place
from ftlab.rules.adapter.adapter_scaling_changed import AdapterScalingChanged
from tests.runs import RunBuilder, found_by


def check(start, peft=None):
    builder = RunBuilder().facts(model={"peft": {"mine": peft or {}}, "start": start})
    return found_by(AdapterScalingChanged(), builder.run)


def trained(before, now, settings=None):
    return {
        "adapters": {"mine": {"scaling": {"model.q": now}}},
        "trained_as": {
            "adapters": {"theirs": {"scaling": {"base_model.model.model.q": before}}},
            "peft": {"theirs": settings or {}},
        },
    }


def test_the_file_says_which_factor_is_due():
    file = {
        "folder": "a",
        "scaling": {"model.q": [4.0, 1.0]},
        "config": {"use_rslora": [True, False]},
    }
    (finding,) = check({"file": file})
    assert finding.places == (
        Place("config", "use_rslora"),
        Place("config", "scaling"),
        Place("module", "model.q"),
    )
    assert "multiplies" not in finding.message
    assert "is 1, but was 4 in training" in finding.message
    assert "0.25 times as strong" in finding.cause


@pytest.mark.parametrize(("now", "found"), [(2.0, 0), (2.001, 0), (2.01, 1), (1.0, 1)])
def test_so_does_the_run_that_it_was_trained_in(now, found):
    assert len(check(trained(2.0, now))) == found


def test_names_the_setting_that_differs():
    (finding,) = check(trained(2.0, 1.0, {"lora_alpha": 16}), {"lora_alpha": 8})
    assert finding.place == Place("config", "lora_alpha")


def test_an_equal_factor_by_other_settings_is_fine():
    assert (
        check({"file": {"folder": "a", "config": {"r": [8, 16]}, "scaling": {}}}) == ()
    )


def test_a_load_in_the_run_that_leaves_the_settings():
    detail = {"adapter": "mine", "scaling": {"model.q": [8.0, 2.0]}}
    builder = RunBuilder().facts(model={"peft": {"mine": {}}}).step()
    builder.step(ops=[("load", "adapter settings", detail)])
    (finding,) = found_by(AdapterScalingChanged(), builder.run)
    assert (finding.first_step, finding.evidence["trained"]) == (1, 8.0)
    assert finding.message.startswith("step 1: the scaling of 1 LoRA layer")
    assert finding.place == Place("config", "scaling")


def test_of_weights_that_were_not_read_no_factor_is_to_blame():
    detail = {"adapter": "mine", "scaling": {"model.q": [8.0, 2.0]}}
    left = {"adapter": "mine", "misshapen": ["a"]}
    builder = RunBuilder().facts(model={"peft": {"mine": {}}})
    ops = [("load", "model", left), ("load", "adapter settings", detail)]
    builder.step(ops=ops)
    assert found_by(AdapterScalingChanged(), builder.run) == ()


def test_a_load_and_the_folder_tell_the_same_once():
    detail = {"adapter": "mine", "scaling": {"model.q": [8.0, 2.0]}}
    file = {"folder": "a", "config": {}, "scaling": {"model.q": [8.0, 2.0]}}
    builder = RunBuilder().facts(model={"peft": {"mine": {}}, "start": {"file": file}})
    builder.step(ops=[("load", "adapter settings", detail)])
    (finding,) = found_by(AdapterScalingChanged(), builder.run)
    assert finding.message.startswith("before step 0")
