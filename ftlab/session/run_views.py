"""The views that a live watch and an opened run have in common."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ftlab.records.checklist import in_order
from ftlab.rules.engine import Engine
from ftlab.rules.report import Report
from ftlab.runlog.run import Run
from ftlab.session.baseline import against, save_baseline
from ftlab.session.preflight.of_run import run_checklist
from ftlab.session.replays import replay_of
from ftlab.session.run_tokenizer import fingerprint_of
from ftlab.views.dashboard.dashboard import Dashboard
from ftlab.views.findings.checklist import Checklist
from ftlab.views.findings.findings import FindingsView
from ftlab.views.layers.gradients import GradientView
from ftlab.views.layers.lora import LoraView
from ftlab.views.layers.moments import MomentsView
from ftlab.views.layers.spectra import SpectraView
from ftlab.views.layers.updates import UpdatesView
from ftlab.views.steps.answers import AnswersView
from ftlab.views.steps.baseline import BaselineView
from ftlab.views.steps.clipping import ClippingView
from ftlab.views.steps.cost import CostView
from ftlab.views.steps.divergence import DivergenceView
from ftlab.views.steps.logits import LogitsView
from ftlab.views.steps.loss import LossView
from ftlab.views.steps.memory import MemoryView
from ftlab.views.steps.scaler import ScalerView
from ftlab.views.steps.schedule import ScheduleView
from ftlab.views.steps.seeds import SeedsView
from ftlab.views.steps.time import TimeView
from ftlab.views.tokenizers.fingerprint import FingerprintView
from ftlab.views.tokens.samples import HighestLossesView

if TYPE_CHECKING:
    from ftlab.views.replay.replay import Replay


class RunViews:
    """Views over one run; subclasses say where the run comes from.

    Each view has ``table()`` (pandas), ``figure()`` (matplotlib) and ``widget()``, and
    shows itself in a notebook. They are the dashboard's own views: what keeps the
    dashboard up to date keeps them up to date wherever they are shown.
    """

    @property
    def dashboard(self) -> Dashboard:
        """All views on one screen."""
        raise NotImplementedError

    @property
    def run(self) -> Run:
        """The records."""
        raise NotImplementedError

    def _bring_up_to_date(self) -> None:
        """Log and judge what is on its way, or read what a folder has got since."""
        raise NotImplementedError

    def _judge(self) -> None:
        """Have the rules speak of all that is there."""
        self._bring_up_to_date()

    @property
    def gradients(self) -> GradientView:
        """Layer x step view of the gradients."""
        self._bring_up_to_date()
        return self.dashboard.gradients

    @property
    def lora(self) -> LoraView:
        """Norms of A, B and scaling x BA of each adapter over the steps."""
        self._bring_up_to_date()
        return self.dashboard.lora

    @property
    def spectra(self) -> SpectraView:
        """How many of its directions each LoRA update uses, over the steps."""
        self._bring_up_to_date()
        return self.dashboard.spectra

    @property
    def loss(self) -> LossView:
        """Loss and learning rates over the steps."""
        self._bring_up_to_date()
        return self.dashboard.loss

    @property
    def samples(self) -> AnswersView:
        """What the model answered to the prompts of ``watch(..., prompts=[...])``.

        Greedy, by its own generation config. In ``table()``, ``parted`` is the first
        token that is another one without the adapter (-1: none), ``end`` the largest
        probability of an end in the answer, ``nats`` the mean KL divergence from the
        model without the adapter.
        """
        self._bring_up_to_date()
        return self.dashboard.samples

    @property
    def memory(self) -> MemoryView:
        """Memory and throughput over the steps."""
        self._bring_up_to_date()
        return self.dashboard.memory

    @property
    def time(self) -> TimeView:
        """Where the time of each step goes: data, model, logs, saving."""
        self._bring_up_to_date()
        return self.dashboard.time

    @property
    def schedule(self) -> ScheduleView:
        """Learning rates against the formula that was asked for."""
        self._bring_up_to_date()
        return self.dashboard.schedule

    @property
    def clipping(self) -> ClippingView:
        """The gradient's norm before and after clipping, and how often it was cut."""
        self._bring_up_to_date()
        return self.dashboard.clipping

    @property
    def scaler(self) -> ScalerView:
        """The loss scale of mixed precision, and the steps that were skipped."""
        self._bring_up_to_date()
        return self.dashboard.scaler

    @property
    def updates(self) -> UpdatesView:
        """Layer x step view of how far a step moves each layer."""
        self._bring_up_to_date()
        return self.dashboard.updates

    @property
    def moments(self) -> MomentsView:
        """Layer x step view of the optimizer's moments."""
        self._bring_up_to_date()
        return self.dashboard.moments

    @property
    def logits(self) -> LogitsView:
        """Range of the logits, entropy and top probability over the steps."""
        self._bring_up_to_date()
        return self.dashboard.logits

    @property
    def divergence(self) -> DivergenceView:
        """From which step on evaluation loss rises while training loss falls."""
        self._bring_up_to_date()
        return DivergenceView(self.run)

    @property
    def highest_losses(self) -> HighestLossesView:
        """The samples with the highest losses, where the watch was asked for them."""
        self._bring_up_to_date()
        return HighestLossesView(self.run)

    @property
    def cost(self) -> CostView:
        """What watching takes of each step, and how often each probe could measure."""
        self._bring_up_to_date()
        return CostView(self.run)

    @property
    def seeds(self) -> SeedsView:
        """Sources of randomness; ``against(other)`` tells where two runs part."""
        self._bring_up_to_date()
        return SeedsView(self.run)

    @property
    def fingerprint(self) -> FingerprintView:
        """What the tokenizer is made of that the run is trained with, as it is now.

        `ftlab.tokenizer_diff` compares it with the one that is served.

        Raises
        ------
        BadValueError
            When the run was recorded without a tokenizer, or has made no step yet.
        """
        self._bring_up_to_date()
        return fingerprint_of(self.run)

    @property
    def findings(self) -> FindingsView:
        """What the rules found, worst first, and what they could not check."""
        self._judge()
        return self.dashboard.findings

    @property
    def checklist(self) -> Checklist:
        """Data, model, optimizer, device, numerics, logging, rollback, as they stand.

        What `ftlab.preflight` tells before a run, told of the run itself; a new one
        each time.
        """
        findings, run = self.findings, self.run
        report = Report(tuple(findings), findings.not_checked)
        if run.last_step < 0:  # nobody has asked the rules yet
            report = Engine().check(run)
        items = run_checklist(run, report)
        return Checklist(in_order(items), title=f"Checklist, {_until(run)}")

    def save_baseline(self, path: str | Path | None = None) -> Path:
        """Keep the numbers of the last 500 steps in a file, by default beside the run.

        For `compare`, and for ``ftlab check RUN --baseline FILE``.
        """
        self._bring_up_to_date()
        return save_baseline(self.run, path)

    def compare(
        self, baseline: Any, *, allowed: Mapping[str, float] | None = None
    ) -> BaselineView:
        """Hold this run against a baseline: ok, worse, different, or not comparable.

        ``baseline`` is the file of `save_baseline`, the folder of a run, or a run;
        ``allowed`` by what factors they may be apart, as ``{"step seconds": 1.1}``.
        For two runs bit by bit: `ftlab.compare`.
        """
        self._bring_up_to_date()
        return against(self.run, baseline, allowed or {})

    def replay(self, step: int | None = None, *, number: int = 1) -> "Replay":
        """Walk a recorded anomaly op by op, without the model.

        Parameters
        ----------
        step
            The step; by default the first that has a trace.
        number
            Which of the step's anomalies, from 1.

        Returns
        -------
        Replay
            ``step()``, ``back()`` and ``at(index)`` move it; ``culprit`` is where the
            anomaly begins.

        Raises
        ------
        BadValueError
            When that step has no trace; the message lists those that have.
        RunFolderError
            When the trace is damaged.
        """
        return replay_of(self.run, step, number)


def _until(run: Run) -> str:
    last = run.last_step
    return "no step yet" if last < 0 else f"steps 0 to {last}"
