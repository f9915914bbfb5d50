"""Fixtures of every test: offline, one thread, nothing left behind."""

import os
import signal
import sys

import pytest

# Before anything imports torch or a hub client: tests are offline and repeatable.
os.environ.update(
    HF_HUB_OFFLINE="1",
    HF_DATASETS_OFFLINE="1",
    OMP_NUM_THREADS="1",
    TOKENIZERS_PARALLELISM="false",
)

from tests.leaks import (
    finish_threads,
    leaks,
    set_imports_aside,
    snapshot,
    unwanted,
    watching_hooks,
    wrapped_instances,
)

pytest.register_assert_rewrite("tests.runs")


@pytest.fixture(autouse=True)
def nothing_left_behind():
    """Fail a test that leaves a hook, a rebound method, a thread or a setting."""
    set_imports_aside()
    before = snapshot()
    with watching_hooks() as hooks:
        yield
    finish_threads(before)
    found = leaks(before, unwanted(snapshot()))
    found += hooks.left() + wrapped_instances()
    if found:
        pytest.fail("left behind: " + "; ".join(found), pytrace=False)


RUNNERS = ("_pytest.", "execnet.", "pluggy.", "xdist.")


@pytest.fixture(autouse=True)
def what_runs_tests_is_no_training(monkeypatch):
    """Keep pytest's own objects, with the reports of all tests, out of surveys."""
    if (walk := sys.modules.get("ftlab.probes.holding.walk")) is None:
        return
    is_passed = walk._is_passed

    def is_passed_or_pytests(child):
        return type(child).__module__.startswith(RUNNERS) or is_passed(child)

    monkeypatch.setattr(walk, "_is_passed", is_passed_or_pytests)


@pytest.fixture(autouse=True)
def one_thread():
    """Sum in one order, whatever an earlier test has set."""
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def precision_of_one_test():
    """Take back what transformers 4 tells every later trainer by the environment."""
    yield
    os.environ.pop("ACCELERATE_MIXED_PRECISION", None)


def pytest_configure():
    """Hear Ctrl-C also where the tests were started in the background.

    A shell without job control starts such programs with interrupts ignored, and the
    tests of interrupts would wait for ever.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    """Refuse tests for a shell, browser or server where make would not run them."""
    places = {"ipython": "notebook", "browser": "browser", "servers": "servers"}
    for mark, folder in places.items():
        for item in items:
            if item.get_closest_marker(mark) and item.path.parent.name != folder:
                msg = f"{item.nodeid} is marked {mark} and not in tests/{folder}"
                raise pytest.UsageError(msg)


def pytest_runtest_setup(item):
    """Skip GPU tests where there is no CUDA device."""
    if item.get_closest_marker("gpu") is None:
        return
    import torch

    if not torch.cuda.is_available():
        pytest.skip("there is no CUDA device")
