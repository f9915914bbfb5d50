"""One tool on one case, in a process of its own and within a time limit."""

import dataclasses
import importlib
import math
import os
import pickle
import resource
import select
import signal
import time
from dataclasses import dataclass

import torch

from benchmarks.anomalies.registry import load
from benchmarks.naming.claim import ASPECTS, SILENT, Claim, judge
from benchmarks.naming.tools import TOOLS, plain, short

BARE = "no tool"
PATIENCE = 5


@dataclass(frozen=True, slots=True)
class Trial:
    """How a tool did on a case.

    Attributes
    ----------
    verdicts
        For each of `ASPECTS` one of exactly, partly, wrongly, not at all.
    claim
        What it said, if anything.
    crash
        What broke the run other than a finding; ``"no answer in 60 s"`` too.
    alarm
        What it said of the healthy twin; ``""`` when it was rightly content.
    twin_crash
        What broke the run of the healthy twin.
    seconds
        CPU time of the run, imports and building left out.
    """

    case: str
    phase: str
    tool: str
    verdicts: dict[str, str]
    claim: Claim | None
    crash: str
    alarm: str
    twin_crash: str
    seconds: float

    def as_row(self) -> dict[str, object]:
        """Give plain values for JSON."""
        return dataclasses.asdict(self)


Answer = tuple[Claim | None, str, float]


def attempt(case_id: str, tool: str, limit: float = 60.0) -> Trial:
    """Run a tool on a case and on its healthy twin."""
    expected = load(case_id).expected
    claim, crash, seconds = _apart(case_id, tool, False, limit)
    alarm, twin_crash, _ = _apart(case_id, tool, True, limit)
    verdicts = judge(claim, expected)
    return Trial(
        case=case_id,
        phase=expected.phase,
        tool=tool,
        verdicts=dict.fromkeys(ASPECTS, SILENT) if crash else verdicts,
        claim=claim,
        crash=crash,
        alarm=alarm.text or "yes" if alarm else "",
        twin_crash=twin_crash,
        seconds=seconds,
    )


def warm_up() -> None:
    """Import what the cases and the tools need, once for all processes."""
    for name in ("transformers.trainer", "transformers.debug_utils", "peft", "trl"):
        importlib.import_module(name)
    for name in ("ftlab.session.debugging.debug", "torchlens"):
        importlib.import_module(name)
    for case in (
        "norm-of-dead-queries",
        "certain-preference",
        "smoothed-loss-of-no-labels",
    ):
        load(case).build()


def _apart(case_id: str, tool: str, healthy: bool, limit: float) -> Answer:
    """Fork, so that each run starts alike and a hang ends with its process.

    The limit is one of CPU time, so that a busy machine makes no tool look worse; a
    process that only waits ends after `PATIENCE` times as long. TorchLens refuses to
    work in a child of ``multiprocessing``.
    """
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        _run(there, case_id, tool, healthy, limit)
    os.close(there)
    with os.fdopen(here, "rb") as pipe:
        ready, _, _ = select.select([pipe], [], [], PATIENCE * limit)
        said = pipe.read() if ready else b""
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    late = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU
    if late or not ready:
        return None, f"no answer in {limit:.0f} s", limit
    if not said:
        code = os.waitstatus_to_exitcode(status)
        return None, f"the process died, exit code {code}", 0.0
    return pickle.loads(said)


def _run(pipe: int, case_id: str, tool: str, healthy: bool, limit: float) -> None:
    """Send the answer and end, whatever happens."""
    try:
        torch.set_num_threads(1)
        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit), most))
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        answer = _answer(case_id, tool, healthy)
        with os.fdopen(pipe, "wb") as file:
            pickle.dump(answer, file)
    finally:
        os._exit(0)


def _answer(case_id: str, tool: str, healthy: bool) -> Answer:
    use = plain if tool == BARE else TOOLS[tool]
    live = load(case_id).build(healthy=healthy)
    began = time.process_time()
    try:
        claim = use(live)
    except Exception as error:  # noqa: BLE001  # whatever breaks a tool is a result
        return None, short(error), time.process_time() - began
    return claim, "", time.process_time() - began
