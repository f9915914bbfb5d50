"""`ftlab.watch`: attach to a trainer or a hand-written loop, without changing a number.

`watch` checks what it was given and returns a `Watch`. For a trainer the `Watch` waits:
`ftlab.session.integrations.transformers` begins an observation at each ``train()``. For
a model it begins at once. Views read the run of the latest observation.
"""

import types
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

from ftlab.laboratory.memory.gone import refuse_released
from ftlab.probes.adapter.intruder_counts import IntruderCounts
from ftlab.probes.behaviour.answers import Answers, Prompt
from ftlab.probes.budget import Budget
from ftlab.probes.loss.sample_losses import SampleLosses
from ftlab.probes.probe import Probe
from ftlab.probes.schedule import every
from ftlab.probes.standard import standard_probes
from ftlab.probes.subject import Subject
from ftlab.probes.user.user_probes import UserProbes
from ftlab.records.budget import SHARE
from ftlab.records.errors import BadValueError, CheckpointError
from ftlab.records.finding import NotChecked
from ftlab.records.unbroken import take, unbroken
from ftlab.rules.words import counted
from ftlab.runlog.folder import process_rank, refuse_taken, run_dir_of
from ftlab.runlog.run import Run
from ftlab.session.arguments import first_given, several, watchable
from ftlab.session.checkpointing import Checkpoint, Keeper
from ftlab.session.host import host
from ftlab.session.integrations.transformers import TrainerLink, is_trainer
from ftlab.session.observation import Observation, Plan, ended_by, refuse_second
from ftlab.session.out_of_memory import explain_error
from ftlab.session.probing import Probing, refuse_closed
from ftlab.session.run_views import RunViews
from ftlab.session.saved_checkpoint import SavedCheckpoint
from ftlab.views.dashboard.dashboard import Dashboard
from ftlab.views.steps.profile import nvidia_commands

State = Literal["waiting", "watching", "ended"]


class Watch(Probing, RunViews):
    """A live view of training; made by `watch`.

    Use it as a context manager around a hand-written loop, or call `detach` at the end.
    Shown in a notebook, it is the dashboard.
    """

    def __init__(self, plan: Plan) -> None:
        self._points = UserProbes()
        self._plan = replace(plan, probes=(*plan.probes, self._points))
        self._observation: Observation | None = None
        self._link: TrainerLink | None = None
        self._run = Run(rank=process_rank())
        self._dashboard: Dashboard | None = None
        self._closed = False

    @classmethod
    def of_trainer(cls, trainer: Any, plan: Plan) -> "Watch":
        """Wait for each ``train()`` of a transformers Trainer."""
        refuse_released(trainer.model)
        refuse_second(trainer.model)
        if plan.run_dir is not None:
            refuse_taken(plan.run_dir, process_rank())
        watched = cls(plan)
        watched._link = TrainerLink(trainer, watched._begin, watched._stop)
        return watched

    @classmethod
    def of_model(cls, plan: Plan, *subject: Any, **others: Any) -> "Watch":
        """Begin at once; the arguments are those of `ftlab.probes.subject.Subject`."""
        watched = cls(plan)
        others["on_death"] = lambda: watched._stop("the model was deleted")
        watched._begin(Subject(*subject, **others))
        return watched

    @property
    def run(self) -> Run:
        """The records of the current or latest run; empty before training begins."""
        self.sync()
        return self._run

    @property
    def run_dir(self) -> Path | None:
        """Folder of the current or latest run; ``None`` before training begins."""
        return self._run.path

    @property
    def state(self) -> State:
        """``"waiting"`` for train(), ``"watching"``, or ``"ended"``."""
        if self._observation is None:
            return "ended" if self._closed else "waiting"
        return "watching" if self._observation.ended is None else "ended"

    @property
    def logged_step(self) -> int:
        """The last step that is in the log on disk; -1 when there is none."""
        if self._observation is None or self._observation.background.writer is None:
            return -1
        return self._observation.background.writer.last_committed_step

    commands = staticmethod(nvidia_commands)

    @property
    def dashboard(self) -> Dashboard:
        """All views on one screen; updates itself while training runs."""
        self.sync()
        if self._dashboard is None:
            self._dashboard = Dashboard(
                self._run, lambda: self._not_checked, state=lambda: self.state
            )
            self._listen()
        return self._dashboard

    def sync(self) -> "Watch":
        """Wait until everything measured so far is logged and judged; return self.

        All views do this. In a loop of your own the step that was just made is among
        it once all optimizers have stepped and the scaler was updated, if you look from
        the thread that trains; otherwise it comes when the next step begins, or with
        `detach`. A trainer's last step comes when ``train()`` returns.
        """
        if self._observation is not None:
            if self._link is None:
                self._observation.recorder.catch_up()
            self._observation.background.flush()
            self._observation.tell_cost()
        return self

    def roll_back(self, *, schedule: bool = True, rng: bool = True) -> SavedCheckpoint:
        """Put the training back to the last good checkpoint of this watch.

        Between two steps, and from the thread that trains; ``schedule`` and ``rng`` as
        in `SavedCheckpoint.restore`. Data goes on. A CheckpointError says that there is
        none that is good and whole.
        """
        keeper = getattr(self._observation, "keeper", None)
        if keeper is None or self.state != "watching":
            msg = "This watch saves no checkpoints now: watch(..., checkpoint='safe')."
            raise CheckpointError(msg)
        return cast("SavedCheckpoint", keeper.roll_back(schedule=schedule, rng=rng))

    def detach(self) -> None:
        """Take everything off and close the log. May be called more than once."""
        self._end("detached")

    def _end(self, ended: str) -> None:
        with unbroken():
            try:
                self._stop(ended)
            finally:
                self._closed = True
                if self._link is not None:
                    self._link.remove()
                self._link = None

    def __enter__(self) -> "Watch":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:
        explain_error(error, self._observation)
        self._end(ended_by(error))

    def __repr__(self) -> str:
        steps, found = len(self.run.steps), len(self.findings)
        words = [self.state, counted(steps, "step") if steps else "no step yet"]
        words += [counted(found, "finding")] if steps or found else []
        error = self._observation and self._observation.recorder.failure
        if error is not None:
            words.append(f"stopped by an error of ftlab: {type(error).__name__}")
        return f"Watch({', '.join(words)})"

    def _repr_mimebundle_(self, **options: Any) -> Any:
        return self.dashboard._repr_mimebundle_(**options)

    def _begin(self, subject: Subject, *, first_step: int = 0) -> Observation:
        plan = self._plan
        if self._observation is not None:
            plan, self._run = plan.next(), Run(rank=process_rank())
            if self._dashboard is not None:
                self._dashboard.show(self._run)
        self._observation = Observation(subject, plan, self._run, first_step=first_step)
        self._listen()
        return self._observation.start()

    def _stop(self, ended: str) -> None:
        if self._observation is not None:
            self._observation.stop(ended)
            host().finish(self._dashboard)

    def _listen(self) -> None:
        if self._observation is not None and self._dashboard is not None:
            self._observation.background.listeners.append(self._dashboard.refresh)

    @property
    def _not_checked(self) -> Sequence[NotChecked]:
        return () if self._observation is None else self._observation.not_checked

    def _bring_up_to_date(self) -> None:
        self.sync()

    def _model_to_come(self) -> Any:
        if self.state == "watching":
            return None  # the probes know the model
        if self._link is None:
            raise refuse_closed()
        return self._link.model


def watch(
    target: Any,
    optimizer: Any = None,
    *,
    scheduler: Any = None,
    lr_scheduler: Any = None,
    scaler: Any = None,
    tokenizer: Any = None,
    processing_class: Any = None,
    run_dir: str | Path | None = None,
    interval: int = 16,
    budget: float | None = SHARE,
    activations: bool = False,
    highest_losses: int = 0,
    prompts: Sequence[Prompt] = (),
    prompt_interval: int = 100,
    directions: int = 0,
    probes: Sequence[Probe] = (),
    checkpoint: Checkpoint | str | Path | None = None,
    marks: bool = False,
) -> Watch:
    """Watch a fine-tune: gradients, adapters, losses, order of operations, findings.

    Nothing about the training changes: losses, weights, optimizer state and random
    numbers are bit-equal with and without it.

    Parameters
    ----------
    target
        A ``transformers.Trainer`` (or what derives from it, such as TRL's
        ``SFTTrainer``), or the model of a hand-written loop.
    optimizer
        One optimizer or several, for a hand-written loop. Without it, the optimizers
        are found at their first step.
    scheduler, lr_scheduler
        Learning-rate scheduler or several; two spellings of the same argument.
    scaler
        The ``torch.amp.GradScaler``, if there is one.
    tokenizer, processing_class
        Used to tell padding from text; two spellings of the same argument.
    run_dir
        Folder of the run log; must not exist. Default ``runs/<date>-<time>-<n>``. A
        second ``train()`` of the same trainer adds ``-2``, and so on.
    interval
        Steps between two measurements of weights, adapters and updates; the first steps
        are measured more often, for most faults show in them.
    budget
        Share of the training thread's time that ftlab may take, above 0 and at most 1.
        Gradients, losses, rates, clipping, samples, generators, times and the ledger
        are recorded at every step, even where that alone takes more. Where the rest
        does not fit into the share, most steps are light, which means that this is all;
        of full steps at least two follow each other. What is costly waits for its turn,
        longer than ``interval`` where its cost calls for it. Full steps and turns get a
        quarter of the share at least: ``watch.cost`` tells. Steps 0 to 8 and 16 are
        full, and a step counts as at least 50 ms. ``None`` measures everything on
        schedule, whatever it costs.
    activations
        Measure activations of modules too, every ``interval`` steps.
    highest_losses
        Keep this many samples with the highest losses; see `Watch.highest_losses`.
    prompts
        Texts, or conversations, that the model answers greedily every
        ``prompt_interval`` steps, with its adapter and without, 32 tokens at most; see
        `Watch.samples`. Needs a tokenizer. Where the budget calls for it, less often.
    prompt_interval
        Steps between two times that the prompts are answered.
    directions
        In how many layers to count, every 64 steps, the directions of the adapted
        weight that the base has not; see `ftlab.adapters`. The first count takes
        seconds for each layer of 2048 x 2048.
    probes
        Probes of your own, in addition.
    checkpoint
        Where to save checkpoints that survive, as ``ftlab.Checkpoint(folder,
        every=100)`` or a folder; see `ftlab.safe_save` and `Watch.roll_back`.
    marks
        Show steps, phases and modules to profilers, as nested ranges of torch's and, on
        CUDA, of NVTX, at 20 us for each call of a module; `Watch.commands` gives the
        calls of NVIDIA's tools.

    Returns
    -------
    Watch
        Attached already (a model) or waiting for ``train()`` (a trainer).

    Raises
    ------
    AttachError
        The model has no parameters, lazy ones without a shape, is TorchScript, or is
        watched already.
    BadValueError
        ``budget`` or ``interval`` is not within its bounds, or ``run_dir`` no path.
    RunFolderError
        ``run_dir`` exists or cannot be written.

    Notes
    -----
    Attaching in the middle of a gradient accumulation is allowed: the first step then
    holds the loss and tokens of the micro-batches that were seen, and its gradients are
    complete. An optimizer that holds none of the model's parameters, and a model of
    which nothing is trainable, are findings, because that is how such a run goes wrong.

    Examples
    --------
    >>> import tempfile, torch, ftlab
    >>> model = torch.nn.Linear(2, 1)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> folder = tempfile.mkdtemp() + "/run"
    >>> with ftlab.watch(model, optimizer, run_dir=folder) as watch:
    ...     for _ in range(3):
    ...         optimizer.zero_grad()
    ...         model(torch.ones(4, 2)).pow(2).mean().backward()
    ...         optimizer.step()
    >>> len(watch.run.steps)
    3
    >>> ftlab.watch(torch.nn.ReLU())
    Traceback (most recent call last):
    ...
    ftlab.records.errors.AttachError: ReLU has no parameters, so there is nothing to \
watch. Pass the model that your optimizer trains.
    """
    every(interval)
    Budget(budget)
    plan = Plan(
        run_dir=run_dir_of(run_dir),
        interval=interval,
        budget=budget,
        probes=(
            *standard_probes(interval=interval, activations=activations, marks=marks),
            *([SampleLosses(highest_losses)] if highest_losses else ()),
            *_asking(prompts, prompt_interval, tokenizer or processing_class, target),
            *([IntruderCounts(directions)] if _layers(directions) else ()),
            *probes,
        ),
        keeper=_keeping(checkpoint, target),
    )
    if is_trainer(target):
        return take(lambda: Watch.of_trainer(target, plan), Watch.detach)
    return take(
        lambda: Watch.of_model(
            plan,
            watchable(target),
            several(optimizer, "step", "optimizer"),
            schedulers=several(
                first_given(scheduler, lr_scheduler), "step", "scheduler"
            ),
            scaler=scaler,
            tokenizer=first_given(tokenizer, processing_class),
        ),
        Watch.detach,
    )


def _keeping(asked: Any, target: Any) -> Callable[[Observation], Keeper | None]:
    """Return what makes the keeper of checkpoints, if there is to be one."""
    if asked is None:
        return lambda _: None
    wanted = asked if isinstance(asked, Checkpoint) else Checkpoint(asked)
    trainer = target if is_trainer(target) else None
    return lambda seen: Keeper(seen, wanted, trainer)


def _layers(directions: Any) -> int:
    if type(directions) is int and directions >= 0:
        return directions
    msg = f"directions={directions!r}: it is a number of layers, such as directions=4."
    raise BadValueError(msg)


def _asking(
    prompts: Any, interval: int, tokenizer: Any, target: Any
) -> tuple[Probe, ...]:
    """Return the probe that lets prompts be answered, if there are any."""
    if isinstance(prompts, str):
        msg = f"prompts={prompts!r} is one text; pass a list of them: prompts=[...]."
        raise BadValueError(msg)
    if not prompts:
        return ()
    if type(interval) is not int or interval < 1:
        msg = f"prompt_interval={interval!r}: it is a number of steps, 1 or more."
        raise BadValueError(msg)
    if tokenizer is None and not is_trainer(target):
        msg = "prompts= needs a tokenizer: watch(model, optimizer, tokenizer=...)."
        raise BadValueError(msg)
    return (Answers(prompts, interval),)
