"""The views that a live watch and an opened run have in common."""

from collections.abc import Sequence

from ftlab.records.finding import NotChecked
from ftlab.runlog.run import Run
from ftlab.views.dashboard import Dashboard
from ftlab.views.findings import FindingsView
from ftlab.views.gradients import GradientView
from ftlab.views.lora import LoraView
from ftlab.views.loss import LossView
from ftlab.views.memory import MemoryView


class RunViews:
    """Views over ``run``; subclasses say where the run comes from.

    Each view has ``table()`` (pandas), ``figure()`` (matplotlib) and ``widget()``, and
    shows itself in a notebook.
    """

    _dashboard: Dashboard | None = None

    @property
    def run(self) -> Run:
        """The records; up to date when a view asks."""
        raise NotImplementedError

    def _judged(self) -> Sequence[NotChecked]:
        """Bring the findings of ``run`` up to date; return what was not checked."""
        raise NotImplementedError

    @property
    def gradients(self) -> GradientView:
        """Layer x step view of the gradients."""
        return GradientView(self.run)

    @property
    def lora(self) -> LoraView:
        """Norms of A, B and scaling x BA of each adapter over the steps."""
        return LoraView(self.run)

    @property
    def loss(self) -> LossView:
        """Loss and learning rates over the steps."""
        return LossView(self.run)

    @property
    def memory(self) -> MemoryView:
        """Memory and throughput over the steps."""
        return MemoryView(self.run)

    @property
    def findings(self) -> FindingsView:
        """What the rules found, worst first, and what they could not check."""
        not_checked = self._judged()
        return FindingsView(self.run, not_checked)

    @property
    def dashboard(self) -> Dashboard:
        """All views on one screen."""
        if self._dashboard is None:
            self._dashboard = Dashboard(self.run)
        return self._dashboard
