"""What the debugger's panel reads: plain values of a stop, seen by their shape."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ftlab.records.handle import Handle


class Report(Protocol):
    """What a stop says about itself.

    Its text form has the headline first, and then lines ``"  word   remark"``.
    """

    @property
    def replayable(self) -> bool:
        """Whether the step can be executed again, forward and back."""

    @property
    def what(self) -> str:
        """``nan``, ``inf``, or ``""`` when the stop is no anomaly."""

    @property
    def kind(self) -> str:
        """The kind of place where it was born."""

    @property
    def parameters(self) -> Sequence[str]:
        """Those whose gradient is non-finite."""

    @property
    def trial(self) -> str:
        """What came of the change that was tried last."""

    @property
    def spans(self) -> Sequence[Any]:
        """Tokens concerned: ``sample``, ``start``, ``stop``."""

    @property
    def inputs(self) -> Sequence[Any]:
        """Facts of the tensors that the operation read, see `Ranged`."""

    @property
    def outputs(self) -> Sequence[Any]:
        """Those of what it made."""

    @property
    def chain(self) -> Sequence[Any]:
        """Links with ``facts``, the nearest first; printed with what made them."""

    def headline(self) -> str:
        """Say in one line what stopped the run."""


class Controller(Protocol):
    """The debugger, seen by its panel."""

    @property
    def state(self) -> str:
        """``"new"``, ``"running"``, ``"paused"``, ``"finished"``, ..."""

    @property
    def where(self) -> Report:
        """What the current stop says, or how the run stands."""

    @property
    def commands(self) -> Any:
        """Makes the commands that try a change, and the one that takes it."""

    @property
    def source(self) -> Sequence[Any]:
        """Excerpts: ``role``, ``place``, ``first``, ``marked``, ``lines``."""

    @property
    def stack(self) -> Sequence[Any]:
        """Calls, innermost last: ``place``, ``code``, ``yours``."""

    @property
    def batch_text(self) -> Sequence[Any]:
        """Samples: ``sample``, ``start``, ``length``, ``pieces``, ``marked``."""

    @property
    def histogram(self) -> Any:
        """``edges``, ``counts``, ``nans``, ``infs``, ``headline()``; or ``None``."""

    def send(self, command: Any) -> None:
        """Take a command and return at once."""

    def subscribe(self, listener: Callable[[], None]) -> Handle:
        """Call ``listener`` after each change of state, from any thread."""


def mended(report: Report) -> bool:
    """Whether the step was finite as it was tried last."""
    return ": gone" in report.trial


def said(controller: Controller) -> tuple[str, list[tuple[str, str]]]:
    """Return the headline and the rows of what a run says about itself."""
    state = controller.state
    if state == "new":
        return "Not started: run() starts the training.", []
    if state == "running":
        return "Training runs.", []
    report = controller.where
    if state == "failed":
        return report.headline(), [("next", "wait() in a cell shows the error")]
    rows = []
    for line in repr(report).splitlines()[1:]:
        word, _, remark = line.strip().partition(" ")
        rows.append((word, remark.strip()))
    return report.headline(), rows
