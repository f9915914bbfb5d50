"""Layer logging: folders that can be written, and a trainer that logs in time."""

import os
import shutil

import pytest

from ftlab.session.preflight import logging_checks
from ftlab.session.preflight.logging_checks import asked_logging, writable
from ftlab.session.preflight.saying import Check

FOLDER = Check("logging", "a folder")


def of(name, args, steps=600):
    return next(item for item in asked_logging(args, steps) if item.name == name)


def test_a_folder_that_can_be_made_is_not_made(tmp_path):
    item = writable(FOLDER, tmp_path / "runs" / "a")
    assert item.status == "passed"
    assert f"can be created in {tmp_path}" in item.says
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_way_is_named(tmp_path):
    (tmp_path / "runs").write_text("")
    item = writable(FOLDER, tmp_path / "runs" / "a")
    assert item.status == "failed"
    assert "is a file" in item.says


def test_a_read_only_folder_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anywhere
    item = writable(FOLDER, tmp_path)
    assert (item.status, str(item.places[0])) == ("failed", f"file {tmp_path}")


def test_a_full_disk_is_told(tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)._replace(free=50 * 2**20)
    monkeypatch.setattr(logging_checks.shutil, "disk_usage", lambda _: usage)
    item = logging_checks._space(tmp_path)
    assert item.says == "50 MiB are free where the run is logged"


@pytest.mark.parametrize(
    ("args", "status", "words"),
    [
        ({"logging_steps": 1000}, "failed", "logs no loss before the end"),
        ({"logging_steps": 100}, "passed", "logs every 100 of 600 steps"),
        ({"logging_strategy": "no"}, "failed", "will log no loss"),
        (
            {"logging_strategy": "epoch", "logging_steps": 500},
            "passed",
            "logs by epoch",
        ),
        ({"logging_steps": 0.1}, "passed", "logging_steps=0.1"),
    ],
)
def test_logging_must_fall_within_the_run(args, status, words):
    item = of("the trainer logs within the run", args)
    assert item.status == status
    assert words in item.says


@pytest.mark.parametrize("args", [{"logging_steps": 500}, {"logging_strategy": "no"}])
def test_a_short_run_may_log_at_its_end_or_not_at_all(args):
    name = "the trainer logs within the run"
    assert of(name, args, 500).status == "passed"
    assert of(name, args | {"logging_steps": 502}, 501).status == "failed"


def test_a_tracker_that_is_not_installed_is_named():
    item = of("trackers are installed", {"report_to": "tensorboard, neptune"})
    assert (item.status, item.says) == (
        "failed",
        "report_to names neptune, which is not installed",
    )
    assert of("trackers are installed", {"report_to": "none"}).status == "passed"


def test_a_loop_without_arguments_is_asked_for_none():
    assert list(asked_logging({}, 0)) == []
