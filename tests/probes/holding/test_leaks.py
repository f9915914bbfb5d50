"""Each way to keep memory is named exactly, within 20 steps; its twin is not told."""

import gc
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import ftlab
from ftlab.records.finding import Finding
from tests.probes.holding.leaking import LEAKS, Leak
from tests.runs import only

STEPS = 20

USUAL = [
    "loss-list",
    "closure",
    "hook",
    "cycle",
    "lru-cache",
    "traceback",
    "queue",
    "carried-state",
    "optimizer-of-a-deleted-model",
]
"""The first ring has one of each way to hold; the others are slow."""

leaks = pytest.mark.parametrize(
    "leak",
    [
        pytest.param(each, marks=() if each.id in USUAL else pytest.mark.slow)
        for each in LEAKS
    ],
    ids=lambda leak: leak.id,
)


@pytest.fixture
def _collector() -> Iterator[None]:
    yield
    gc.enable()
    gc.collect()


def _module(leak: Leak) -> str:
    return "run_" + leak.id.replace("-", "_")


def _load(folder: Path, leak: Leak, *, healthy: bool) -> ModuleType:
    name = _module(leak)
    file = folder / f"{name}.py"
    file.write_text(leak.script(healthy=healthy))
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    sys.modules[name] = script
    spec.loader.exec_module(script)
    return script


def _findings(
    folder: Path, leak: Leak, *, healthy: bool = False, steps: int = STEPS
) -> list[Finding]:
    script = _load(folder, leak, healthy=healthy)
    try:
        with ftlab.watch(
            script.model, script.optimizer, run_dir=folder / "run"
        ) as watch:
            script.train(steps)
        return [each for each in watch.findings if each.code == "MEM001"]
    finally:
        del sys.modules[script.__name__]
        vars(script).clear()


@pytest.mark.usefixtures("_collector")
@leaks
def test_the_holder_is_named_within_twenty_steps(tmp_path: Path, leak: Leak) -> None:
    finding = only(_findings(tmp_path, leak), holder=leak.kind)
    name = finding.places[0].name
    assert name.removeprefix(f"{_module(leak)}.") == leak.holder
    assert leak.line in finding.cause
    assert finding.last_step < STEPS


WINDOW = Leak(
    "window",
    "window",
    "collection",
    "window = []",
    """
    window.append(output.logits.detach())
    if len(window) == 25:
        window.clear()
    """,
    "window.append(output.logits.detach())",
)


@pytest.mark.usefixtures("_collector")
@pytest.mark.parametrize(
    ("steps", "emptied", "severity"),
    [(20, True, "INFO"), (120, True, "INFO"), (120, False, "WARNING")],
)
def test_what_is_emptied_again_is_no_warning(
    tmp_path: Path, steps: int, emptied: bool, severity: str
) -> None:
    (finding,) = _findings(tmp_path, WINDOW, healthy=not emptied, steps=steps)
    assert finding.severity.name == severity
    assert ("window.clear()" in finding.cause) == emptied
    assert ("has not grown with it" in finding.cause) == (emptied and steps > 20)


@pytest.mark.usefixtures("_collector")
def test_what_grows_at_some_steps_only_is_named_later(tmp_path: Path) -> None:
    kept = "if step % 10 == 0:\n    window.append(output.logits.detach().clone())"
    seldom = Leak("seldom", "window", "collection", "window = []", kept, "")
    (finding,) = _findings(tmp_path, seldom, steps=240)
    assert finding.places[0].name == "run_seldom.window"


@pytest.mark.usefixtures("_collector")
@leaks
def test_its_healthy_twin_is_not_told(tmp_path: Path, leak: Leak) -> None:
    assert _findings(tmp_path, leak, healthy=True) == []
