"""Settings in which two runs differ."""

import pytest

from ftlab.records.facts import Facts
from ftlab.runlog.run import Run
from ftlab.runlog.setting_differences import other_settings


def run_of(**facts):
    run = Run()
    run.append(Facts(**facts))
    return run


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (
            {"training": {"args": {"max_grad_norm": 1.0, "seed": 1}}},
            {"training": {"args": {"max_grad_norm": 0.5, "seed": 2}}},
            ["max_grad_norm 1.0, and 0.5"],
        ),
        (
            {"optimizers": ({"class": "SGD", "groups": [{"lr": 1}]},)},
            {"optimizers": ({"class": "AdamW", "groups": [{"lr": 1}]},)},
            ["optimizer SGD, and AdamW"],
        ),
        (
            {"optimizers": ({"class": "A", "groups": [{"betas": (0.9, 0.9)}]},)},
            {"optimizers": ({"class": "A", "groups": [{"betas": (0.9, 0.8)}]},)},
            ["betas [0.9, 0.9], and [0.9, 0.8]"],
        ),
        (
            {"model": {"dtype": "float32", "peft": {"default": {"lora_dropout": 0.0}}}},
            {"model": {"dtype": "float32", "peft": {"default": {"lora_dropout": 0.1}}}},
            ["lora_dropout 0.0, and 0.1"],
        ),
        (
            {"schedulers": ({"class": "L", "asked": {"num_warmup_steps": 0}},)},
            {"schedulers": ({"class": "L", "asked": {"num_warmup_steps": 9}},)},
            ["num_warmup_steps 0, and 9"],
        ),
    ],
)
def test_a_setting_that_differs_is_named(one, other, said):
    assert other_settings(run_of(**one), run_of(**other)) == said


def test_places_reports_and_what_one_run_lacks_are_left_out():
    asked = [
        {"output_dir": "a", "logging_steps": 1, "save_strategy": "no", "only": 1},
        {"output_dir": "b", "logging_steps": 2, "save_strategy": "steps"},
    ]
    one, other = (run_of(training={"args": each}) for each in asked)
    assert other_settings(one, other) == []
    assert other_settings(one, Run()) == []


def test_another_dropout_is_named():
    one, other = (
        run_of(training={"randomness": {"dropout": f"{share} in 3 modules"}})
        for share in (0.1, 0.2)
    )
    none = run_of(training={"randomness": {"dropout": ""}})
    said = "dropout 0.1 in 3 modules, and 0.2 in 3 modules"
    assert other_settings(one, other) == [said]
    assert other_settings(none, other) == ["dropout none, and 0.2 in 3 modules"]
