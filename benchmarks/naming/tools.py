"""Runs a live training under a tool, as its documentation says, and reads its report.

A tool is a function from `Live` to a `Claim`, or to ``None`` when it is content. What
it raises that is not its finding is a crash, and passes through.
"""

import contextlib
import io
import re
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import torch

from benchmarks.anomalies.case import Batch, Live
from benchmarks.anomalies.loops import UPDATE
from benchmarks.naming.claim import OUTSIDE, Claim

FRAME = re.compile(r'File "([^"]+)", line (\d+), in (\S+)')
NODE = re.compile(r"Function '(\w+)' returned nan values")
DUMPED = re.compile(r"^ {17} ?(\S*) (\w+)\n", re.MULTILINE)


class Position:
    """Counts optimizer steps and micro-batches while a run goes on."""

    def __init__(self, live: Live) -> None:
        self.step = 0
        self.micro: int | None = 0
        self._live = live
        if live.trainer is not None:
            self.micro = None
            self._count_in_trainer()

    def run(self) -> None:
        """Train to the end."""
        live = self._live
        if live.trainer is not None:
            live.trainer.train()
            return
        for batch in live.batches:
            live.step(batch)
            self.passed(batch)

    def passed(self, batch: Batch) -> None:
        """Note that a micro-batch is done."""
        if batch.get(UPDATE, True):
            self.step, self.micro = self.step + 1, 0
        elif self.micro is not None:
            self.micro += 1
        if "micros" in batch:  # the step goes through them itself, unseen
            self.micro = None

    def _count_in_trainer(self) -> None:
        from transformers import TrainerCallback

        position = self

        class Count(TrainerCallback):
            def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
                position.step = state.global_step
                return control

        self._live.trainer.add_callback(Count())


def plain(live: Live) -> Claim | None:
    """Train without any tool, to see what raises by itself."""
    Position(live).run()
    return None


def ftlab_debug(live: Live) -> Claim | None:
    """Run under `ftlab.debug`."""
    import ftlab

    if live.trainer is not None:
        debugger = ftlab.debug(live.trainer)
    else:
        debugger = ftlab.debug(
            live.step, live.batches, model=live.model, optimizer=live.optimizer
        )
    with debugger:
        report = debugger.run()
    if report.state != "paused":
        return None
    site, forward = report.site, report.site.forward if report.site else None
    # In backward the site's own line is that of loss.backward(), or of a Function.
    shown = [] if site is None else [site, *([forward] if forward else [])]
    return Claim(
        step=report.step,
        micro_batch=report.micro_batch,
        phase=report.phase or None,
        op=report.op or None,
        module=None
        if site is None
        else OUTSIDE
        if site.module is None
        else site.module,
        lines=tuple(line for at in shown for line in (at.user_line, at.library_line)),
        text=report.headline(),
    )


def detect_anomaly(live: Live) -> Claim | None:
    """Train within ``torch.autograd.detect_anomaly()``."""
    position = Position(live)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with torch.autograd.detect_anomaly():
                position.run()
        except RuntimeError as error:
            found = NODE.search(str(error))
            if not found:
                raise
            said = "".join(
                str(w.message) for w in caught if "forward call" in str(w.message)
            )
            return _anomaly_claim(position, found[1], said, str(error))
    return None


def _anomaly_claim(position: Position, node: str, said: str, text: str) -> Claim:
    """Read a node and the traceback of its forward call, innermost frame last."""
    frames = [f"{file}:{line} {name}" for file, line, name in FRAME.findall(said)]
    inner = [frame for frame in frames if "/site-packages/torch/" not in frame]
    own = [frame for frame in inner if "/site-packages/" not in frame]
    return Claim(
        step=position.step,
        micro_batch=position.micro,
        phase="backward",
        op=node,
        lines=tuple(inner[-1:] + own[-1:]),
        frames=tuple(frames),
        text=text[:200],
    )


def underflow_overflow(live: Live) -> Claim | None:
    """Train with ``DebugUnderflowOverflow(model)``; its last frame is the module."""
    from transformers.debug_utils import DebugUnderflowOverflow

    printed = io.StringIO()
    position = Position(live)
    DebugUnderflowOverflow(live.model)
    try:
        with contextlib.redirect_stdout(printed):
            position.run()
    except ValueError as error:
        if "DebugUnderflowOverflow: inf/nan" not in str(error):
            raise
        last = DUMPED.findall(printed.getvalue())
        return Claim(
            step=position.step,
            micro_batch=position.micro,
            phase="forward",
            module=last[-1][0] if last else None,
            text=" ".join(last[-1]) if last else "",
        )
    return None


def find_nan(live: Live) -> Claim | None:
    """Ask TorchLens about each step before it is taken; see `lens`."""
    from benchmarks.naming import lens

    return lens.look(live, Position(live))


TOOLS: dict[str, Callable[[Live], Claim | None]] = {
    "ftlab.debug": ftlab_debug,
    "detect_anomaly": detect_anomaly,
    "DebugUnderflowOverflow": underflow_overflow,
    "TorchLens": find_nan,
}
"""The tools that are compared."""

CAN_SAY = {
    "ftlab.debug": "op, phase, module, lines; forward, backward and optimizer",
    "detect_anomaly": "node of backward that returns NaN (no Inf), with the stack of "
    "its forward call; no module; nothing born in forward is told apart, no optimizer",
    "DebugUnderflowOverflow": "module whose weight, input or output has NaN or Inf; "
    "forward only; no op, no line",
    "TorchLens": "find_nan: op, module, one line; forward only. bisect_nan_backward: "
    "node, its forward op, module, line. No optimizer; one call, not a run",
}
"""What each can report at all."""


def short(error: BaseException) -> str:
    """Write an exception in one line, with the place it was raised at."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    place = f" at {last[0].filename.rpartition('site-packages/')[2]}" if last else ""
    first = str(error).strip().partition("\n")[0][:120]
    return f"{type(error).__name__}: {first}{place}"
