"""A round trip: the stations of a model's deployment, and where it first differs."""

from collections.abc import Sequence

from ftlab.records.outcome import Outcome
from ftlab.views.drawn import DataFrame
from ftlab.views.executions.proof import ProofView


class RoundtripView(ProofView):
    """Stations on the way to deployment, and how the model came by each.

    A sequence of `Outcome` in the order of the stations; a name or code in brackets
    gives one.

    Examples
    --------
    >>> from ftlab.records.outcome import Outcome
    >>> from ftlab.views.executions.roundtrip import RoundtripView
    >>> made = Outcome("RTP002", "saved-files", "the same", "holds", "1.1 x the floor")
    >>> RoundtripView([made])
    Round trip: the model came through 1 station
    + saved-files: 1.1 x the floor
    """

    title = "Round trip"

    def __init__(
        self, outcomes: Sequence[Outcome], *, title: str = "Round trip"
    ) -> None:
        super().__init__(outcomes, title=title)

    @property
    def first(self) -> Outcome | None:
        """The first station at which the model is another, if there is one."""
        return next(iter(self.broken), None)

    def headline(self) -> str:
        """Say where it first differs."""
        if self.first is not None:
            return f"the model first differs at {self.first.name}"
        passed = sum(each.state == "holds" for each in self)
        return f"the model came through {passed} station{'s' * (passed != 1)}"

    def _summarise(self) -> tuple[Outcome, ...]:
        return tuple(self)

    def _table(self, summary: tuple[Outcome, ...]) -> DataFrame:
        import pandas as pd

        table = super()._table(summary)
        measured = pd.DataFrame([dict(each.evidence) for each in summary])
        return table.join(measured)
