"""A checkpoint: what is in it, and what it lacks for going on exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ftlab.views.marked import ASIDE, BAD, GOOD, OPEN, MarkedView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ftlab.records.marked import Marked


class CheckpointView(MarkedView):
    """What a checkpoint has of all that going on exactly needs.

    Parameters
    ----------
    lines
        What is needed, and whether it is there.
    about
        What the checkpoint is, in words.

    Examples
    --------
    >>> from ftlab.records.marked import Marked
    >>> from ftlab.views.checkpoint import CheckpointView
    >>> CheckpointView([Marked("weights", "there", "model.safetensors")], "step 12")
    Checkpoint: step 12; an exact resume lacks nothing
    + weights  there: model.safetensors
    """

    title = "Checkpoint"
    marks: ClassVar = {
        "lacks": BAD,
        "cannot tell": OPEN,
        "there": GOOD,
        "not needed": ASIDE,
    }

    def __init__(self, lines: Sequence[Marked], about: str) -> None:
        super().__init__(lines)
        self._about = about

    @property
    def lacks(self) -> tuple[Marked, ...]:
        """What an exact resume needs, and is not there."""
        return self._with("lacks")

    def headline(self) -> str:
        """Say what it is, and whether anything lacks."""
        names = ", ".join(each.name for each in self.lacks) or "nothing"
        return f"{self._about}; an exact resume lacks {names}"
