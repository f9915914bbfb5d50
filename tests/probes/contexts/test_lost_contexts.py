"""What a thread, a task or a worker goes without is named; else nothing is."""

import contextlib
import linecache
import threading
from pathlib import Path

import pytest
import torch

import ftlab
from ftlab.records.errors import BadValueError
from ftlab.records.finding import Finding, Severity
from tests.models import batches, tiny_lora, update
from tests.probes.contexts import ways
from tests.probes.contexts.ways import WAYS


def findings_of(folder, lose, scope=contextlib.nullcontext):
    """Train, and call the model once in between as ``lose`` has it."""
    model = tiny_lora()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
    rows = list(batches(4))

    with ftlab.watch(model, optimizer, run_dir=folder / "run") as watch:
        for at, batch in enumerate(rows):
            if at == 2:
                lose(lambda: model(**rows[0]), scope)
            update(model(**batch).loss, optimizer)
    return watch.run, [each for each in watch.findings if each.code == "ENV009"]


def text_at(place: str) -> str:
    file, _, number = place.partition(":")
    folder = Path(__file__).parent
    return linecache.getline(str(folder / file), int(number))


@pytest.mark.parametrize("name", WAYS)
def test_what_is_lost_is_named(tmp_path: Path, name: str) -> None:
    way = WAYS[name]
    run, found = findings_of(tmp_path, way.lose)
    finding: Finding = found[0]
    assert len(found) == 1
    assert (finding.evidence["was"], finding.evidence["now"]) == (way.was, way.now)
    assert finding.message.startswith(way.kind)
    assert finding.evidence["holder"].rpartition(".")[2] == way.holder
    called, started = (each.name for each in finding.places)
    assert way.started in text_at(started)
    assert "call()" in text_at(called) or "lambda: model(" in text_at(called)
    variable = way.was.startswith("variable")
    assert finding.severity == (Severity.INFO if variable else Severity.WARNING)
    assert run.steps["calls_elsewhere"].sum() >= 1


@pytest.mark.parametrize("name", WAYS)
def test_within_a_scope_nothing_is_lost(tmp_path: Path, name: str) -> None:
    run, found = findings_of(tmp_path, WAYS[name].lose, ftlab.scope)
    assert found == []
    assert run.steps["calls_elsewhere"].sum() >= 1


def test_a_thread_that_has_its_own_settings_is_not_told(tmp_path: Path) -> None:
    def own(call, _):
        def work():
            with torch.no_grad():
                call()

        ways.in_thread(work)  # nothing was on where it was started
        with torch.no_grad():
            ways.in_thread(work)

    assert findings_of(tmp_path, own)[1] == []


def test_a_thread_that_switches_autocast_off_itself_is_not_told(tmp_path: Path) -> None:
    def wide(call, _):
        def work():
            with torch.autocast("cpu", enabled=False):
                call()

        with torch.autocast("cpu", **ways.BF16):
            ways.in_thread(work)

    assert findings_of(tmp_path, wide)[1] == []


def test_a_thread_that_does_not_call_the_model_is_not_told(tmp_path: Path) -> None:
    def log(call, _):
        with torch.autocast("cpu"), torch.no_grad():
            ways.in_thread(lambda: torch.ones(2) @ torch.ones(2))

    run, found = findings_of(tmp_path, log)
    assert found == []
    assert run.steps["calls_elsewhere"].sum() == 0


def test_tasks_that_close_their_blocks_are_not_told(tmp_path: Path) -> None:
    import asyncio

    def serve(call, _):
        async def evaluate():
            with torch.no_grad():
                call()
            await asyncio.sleep(0)

        async def several():
            await asyncio.gather(evaluate(), evaluate())

        asyncio.run(several())

    assert findings_of(tmp_path, serve)[1] == []


def test_workers_that_are_not_forked_begin_anew(tmp_path: Path) -> None:
    def read(call, _):
        token = ways.REQUEST.set("a7")
        torch.set_default_dtype(torch.float64)
        try:
            list(ways.rows_of_spawned_workers())
        finally:
            torch.set_default_dtype(torch.float32)
            ways.REQUEST.reset(token)

    _, found = findings_of(tmp_path, read)
    (finding,) = found
    was = finding.evidence["was"]
    assert was == "variable REQUEST (str), default dtype torch.float64"
    assert "loader's worker 'TensorDataset'" in finding.message


def test_what_starts_afterwards_is_left_alone(tmp_path: Path) -> None:
    start = threading.Thread.start
    findings_of(tmp_path, lambda *_: None)
    assert threading.Thread.start is start
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()
    assert "run" not in vars(thread)


@pytest.mark.parametrize("wrong", [torch.int8, torch.float32, "bf16"])
def test_a_scope_of_no_autocast_dtype_is_refused(wrong) -> None:
    with pytest.raises(BadValueError, match="pass True, or a dtype such as"):
        ftlab.scope(autocast=wrong)
