"""A checkpoint: what is in it, and what it lacks for going on exactly."""

from ftlab.records.outcome import Outcome
from ftlab.views.executions.proof import ProofView


class CheckpointView(ProofView):
    """Whether a checkpoint has what an exact resume needs, part by part."""

    @property
    def lacks(self) -> tuple[str, ...]:
        """What an exact resume needs and is not there."""
        return tuple(each.name for each in self.broken)

    def headline(self) -> str:
        """Say what lacks."""
        return f"an exact resume lacks {', '.join(self.lacks) or 'nothing'}"

    def _summarise(self) -> tuple[Outcome, ...]:
        return tuple(self)
