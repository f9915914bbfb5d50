"""The buttons of the debugger's panel: what each asks for, and when it is there."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ftlab.views.pausing.pause_report import Controller, Report, mended

HALVES = ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
SPANS = 2
"""With more spans than these a report may have left out another sample."""


def _always(_: Report) -> bool:
    return True


def _plain(_: Report) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Button:
    """One button.

    Attributes
    ----------
    tip
        What it does.
    key, shown
        The key that does the same, ``""`` for none, and how it is written.
    ask
        Makes the command where its name is not the command.
    moves
        Whether the step has to be executed again for it.
    applies
        Whether it is there at all, at a stop.
    label
        What stands on it, where that is not its name.
    kind
        Its colour at a stop.
    """

    tip: str
    key: str = ""
    shown: str = ""
    ask: Callable[[Controller], Any] | None = None
    moves: bool = False
    applies: Callable[[Report], bool] = _always
    label: Callable[[Report], str] = _plain
    kind: Callable[[Report], str] = _plain

    @property
    def optional(self) -> bool:
        """Whether it is hidden where it does not apply."""
        return self.applies is not _always


def is_broken(report: Report) -> bool:
    """Whether the step as it is would bring what is non-finite into the weights."""
    return bool(report.what or report.parameters)


def one_sample(report: Report) -> int | None:
    """Return the sample that alone is to blame, if there is one and others are left."""
    samples = {span.sample for span in report.spans}
    others = any(facts.shape[:1] > (1,) for facts in report.outputs[:1])
    alone = len(samples) == 1 and len(report.spans) <= SPANS
    return samples.pop() if alone and others else None


def _is_half(report: Report) -> bool:
    return any(facts.dtype in HALVES for facts in report.outputs)


def _going_on(report: Report) -> str:
    return "plain" if is_broken(report) else "success"


COMMANDS = {
    "back module": Button(
        "Run the step again and stop at the previous module",
        "Shift+ArrowLeft",
        "Shift+←",
        moves=True,
    ),
    "back op": Button(
        "Run the step again and stop one operation earlier",
        "ArrowLeft",
        "←",
        moves=True,
    ),
    "step op": Button(
        "Continue to the next operation and stop", "ArrowRight", "→", moves=True
    ),
    "step module": Button(
        "Continue to the next module and stop",
        "Shift+ArrowRight",
        "Shift+→",
        moves=True,
    ),
    "in float32": Button(
        "Would the step be finite with this operation in float32? Changes nothing",
        ask=lambda controller: controller.commands.in_float32(),
        moves=True,
        applies=_is_half,
        label=lambda _: "try in float32",
    ),
    "skip sample": Button(
        "Would the step be finite without this sample? Changes nothing",
        ask=lambda controller: controller.commands.skip_sample(
            one_sample(controller.where)
        ),
        moves=True,
        applies=lambda report: one_sample(report) is not None,
        label=lambda report: f"try without sample {one_sample(report)}",
    ),
    "resume": Button(
        "Continue training with this step as it is",
        "Shift+R",
        "Shift+R",
        kind=_going_on,
    ),
    "resume as tried": Button(
        "Continue training; this step is taken as last tried",
        ask=lambda controller: controller.commands.resume(with_patch=True),
        moves=True,
        applies=mended,
        kind=lambda _: "success",
    ),
    "abort": Button(
        "End the run; this step leaves no trace in the weights",
        "Shift+A",
        "Shift+A",
        kind=lambda _: "danger",
    ),
}
"""The buttons, in their order. What cannot be taken back has no key of one finger."""
