"""Layer rollback: checkpoints within the run, and room for them."""

import shutil

import pytest

from ftlab.session.preflight import rollback_checks
from ftlab.session.preflight.preflight import preflight
from ftlab.session.preflight.rollback_checks import asked_saving, checkpoint_bytes
from tests.session.preflight.objects import lora_loop

STEPS = 600


@pytest.mark.parametrize(
    ("args", "status", "words"),
    [
        ({"save_strategy": "no"}, "failed", "no checkpoint will be written"),
        ({"save_steps": 800}, "failed", "save_steps=800 but the run has 600 steps"),
        ({"save_steps": 100}, "passed", "every 100 of 600 steps"),
        (
            {"save_steps": 20, "save_total_limit": 2},
            "passed",
            "every 20 of 600 steps, the last 2 are kept",
        ),
        ({"save_strategy": "epoch", "save_steps": 500}, "passed", "'epoch'"),
        ({}, "not checked", "no trainer arguments"),
    ],
)
def test_checkpoints_must_fall_within_the_run(args, status, words):
    item = asked_saving(args, STEPS)
    assert item.status == status
    assert words in item.says


@pytest.mark.parametrize("args", [{"save_steps": 500}, {"save_strategy": "no"}])
def test_a_short_run_may_save_at_its_end_or_not_at_all(args):
    assert asked_saving(args, 500).status == "passed"
    assert asked_saving(args | {"save_steps": 502}, 501).status == "failed"


def test_a_checkpoint_of_an_adapter_is_what_is_trained_and_its_moments():
    facts = {
        "trainable": 1000,
        "parameters": 50_000,
        "peft": {"default": {}},
        "dtypes": {"float32": 1000},
    }
    assert checkpoint_bytes(facts, {}) == 1000 * 4 + 1000 * 8
    assert checkpoint_bytes(facts, {"save_only_model": True}) == 1000 * 4
    assert checkpoint_bytes(facts | {"peft": {}}, {}) == 50_000 * 4 + 1000 * 8


def room(tmp_path, monkeypatch, free, **args):
    usage = shutil.disk_usage(tmp_path)._replace(free=free)
    monkeypatch.setattr(rollback_checks.shutil, "disk_usage", lambda _: usage)
    asked = {"output_dir": str(tmp_path / "out"), "max_steps": 100, "save_steps": 10}
    checklist = preflight(**lora_loop(), args=asked | args)
    return next(i for i in checklist if i.name == "room for checkpoints")


def test_checkpoints_that_do_not_fit_on_the_disk_are_told(tmp_path, monkeypatch):
    item = room(tmp_path, monkeypatch, 100_000)
    assert item.status == "failed"
    assert item.says.startswith("10 x ")
    assert not (tmp_path / "out").exists()


def test_a_limit_needs_room_for_one_more(tmp_path, monkeypatch):
    item = room(tmp_path, monkeypatch, 10**9, save_total_limit=2)
    assert (item.status, item.says[:4]) == ("passed", "3 x ")
