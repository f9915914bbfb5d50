"""What a call of the step does by itself where its user has chosen a response."""

import math
import warnings
from typing import Any

import torch

from ftlab.records.errors import FtlabWarning, TrainingStoppedError
from ftlab.replay.breakpoints.sought import Hit
from ftlab.replay.capsules.scaler import true_scale
from ftlab.replay.control import Command, Rewind
from ftlab.replay.responses.response import Response
from ftlab.replay.stopping import Stopping
from ftlab.replay.stops.stop import Stop
from ftlab.replay.tracing.finite import all_finite

AGAIN = "again"
"""Why a step is rewound that runs once more from its start, untraced."""


class Skipped(BaseException):
    """Unwinds a step that leaves no trace.

    Parameters
    ----------
    response
        It wants that.
    why
        What it responds to, in words.
    """

    def __init__(self, response: Response, why: str) -> None:
        super().__init__(why)
        self.response = response
        self.why = why


class Answering(Stopping):
    """The part of a `StepCall` that responds."""

    _at_boundary = False
    _snapshot_for: tuple[Response, str] | None = None

    def _begin_with(self, response: Response | None) -> Response | None:
        """Do what can be done before the step; return what is left for its end."""
        if response is None:
            return None
        why = response.trigger
        if response.by == "stop":
            raise self._stopped(response, why)
        if response.by != "float32":
            return response
        self._switch_to_float32(response, why)
        return None

    def _responds_to(self, hit: Hit) -> bool:
        """Let a response to a breakpoint have its way; say whether all is done then."""
        found = self._desk.responses.to("breakpoint", point=hit.breakpoint)
        return self._answer(found, hit.condition)

    def _answer(self, response: Response | None, why: str) -> bool:
        """Do what a response wants; return whether the step is in order then."""
        if response is None:
            return False
        match response.by:
            case "pause":
                self._tell(response, f"{why}: paused")
            case "snapshot":
                self._snapshot_for = response, why
            case "clip":
                return self._clip(response, why)
            case "float32":
                if not self._in_float32():
                    self._switch_to_float32(response, why)
                    self._desk.unwinding.leave(Rewind(None, AGAIN))
                self._tell(response, f"{why}: paused, it is in float32 already")
            case "stop":
                self._desk.unwinding.leave(self._stopped(response, why))
            case _:
                return self._skip(response, why)
        return False

    def _skip(self, response: Response, why: str) -> bool:
        obstacle = self._obstacle()
        if obstacle is not None:
            self._tell(response, f"{why}: paused, it cannot be taken back: {obstacle}")
            return False
        if not (self.capsule.scalers and self._desk.outer):
            self._desk.unwinding.leave(Skipped(response, why))
        # The trainer's scaler asks for gradients, and skips bad ones by itself.
        left = not all_finite(self.capsule.gradients.current())
        words = "left to" if left else "paused, no gradients would be left for"
        self._tell(response, f"{why}: {words} the gradient scaler")
        return left

    def _clip(self, response: Response, why: str) -> bool:
        if not self._at_boundary:
            self._tell(response, f"{why}: paused, there are no gradients to clip yet")
            return False
        scale = 1.0 if self.at_update else true_scale(self.capsule.scalers)
        limit = response.max_norm or 0.0
        norm = float(torch.nn.utils.get_total_norm(self.capsule.gradients.current()))
        if not math.isfinite(norm):  # it has no direction to keep
            self._tell(response, f"{why}: paused, a norm of {norm:g} cannot be clipped")
            return False
        parameters = [parameter for _, parameter in self.capsule.trainable]
        torch.nn.utils.clip_grad_norm_(parameters, limit * scale)
        self._tell(response, f"{why}: norm {norm / scale:.3g} clipped to {limit:g}")
        return True

    def _switch_to_float32(self, response: Response, why: str) -> None:
        last = self._blank.step + response.steps
        self._desk.responses.float32 = range(self._blank.step, last)
        dtypes = {p.dtype for p in self.capsule.model.parameters()}
        half = sorted(str(d) for d in dtypes if d in (torch.float16, torch.bfloat16))
        but = f"; weights in {', '.join(half)} stay so" if half else ""
        self._tell(response, f"{why}: no autocast up to step {last - 1}{but}")

    def _in_float32(self) -> bool:
        return self._blank.step in self._desk.responses.float32

    def _pause(self, stop: Stop) -> Command:
        asked, self._snapshot_for = self._snapshot_for, None
        if asked is None:
            return super()._pause(stop)
        response, why = asked
        try:
            folder = self._desk.responses.snapshot(self._desk.complete(stop))
        except Exception as error:  # noqa: BLE001  training was to go on
            words = f"no snapshot: {error}"
            warnings.warn(f"A response failed: {words}", FtlabWarning, stacklevel=2)
        else:
            words = f"snapshot in {folder}"
        self._tell(response, f"{why}: {words}")
        return Command("resume")

    def _stopped(self, response: Response, why: str) -> Any:
        self._tell(response, f"{why}: stopped")
        obstacle = self._obstacle()
        weights = f"{obstacle}." if obstacle else "The weights are those before it."
        return TrainingStoppedError(
            f"Step {self._blank.step}, micro-batch {self._blank.micro_batch}: {why}. "
            f"{response!r} stops the training. {weights}"
        )

    def _tell(self, response: Any, words: str) -> None:
        self._desk.responses.told(self._blank.step, response, words)
