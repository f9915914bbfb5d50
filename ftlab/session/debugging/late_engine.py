"""Engines that are made when training begins: only then is it known what trains.

Who calls whom: a `Debugger` takes `LateEngines` for its engine. A trainer's ``train``
asks for one through the class while this is attached; a rewritten loop asks through
`ftlab.session.debugging.code_steps`.
"""

import functools
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ftlab.probes.tokenizers.tokenizer_watch import TokenizerWatch
from ftlab.records.handle import CallbackHandle, Handle, HandleStack, rebind
from ftlab.replay.engine import Engine
from ftlab.replay.past import Past
from ftlab.replay.stops.spans import Decode
from ftlab.replay.wishes import Wishes
from ftlab.replay.worker import Worker
from ftlab.session.import_hook import when_imported


class LateEngines:
    """The engines of one run; at most one of them is attached at a time.

    Parameters
    ----------
    worker
        The training thread.
    wishes
        What the user wants of all of them.

    Attributes
    ----------
    worker, wishes
        As they were passed.
    seen
        Whether anything was debugged.
    """

    def __init__(self, worker: Worker, wishes: Wishes) -> None:
        self.worker = worker
        self.wishes = wishes
        self.seen = False
        self._current: Engine | None = None
        self._attached: Handle | None = None
        self._handles = HandleStack()
        self._training = False

    def attach(self) -> Handle:
        """Stop trainers that train, and loops, until the handle is removed."""
        handles = self._handles = HandleStack()
        handles.add(CallbackHandle(self._let_go))
        handles.add(when_imported("transformers.trainer", self._attach_trainer))
        return handles

    def count(self) -> int:
        """Return the optimizer steps of what trains now."""
        return 0 if self._current is None else self._current.count()

    def moment(self) -> Any:
        """Return what a snapshot needs of the step that is paused."""
        return None if self._current is None else self._current.moment()

    def make(self, model: Callable[[], Any], **options: Any) -> Engine:
        """Return a new engine with the run's worker and wishes."""
        return Engine(model, self.worker, wishes=self.wishes, **options)

    @property
    def past(self) -> Past:
        """The calls that what trains now can go back to."""
        current = self._current
        return Past(self.wishes.budget) if current is None else current.past

    @property
    def decode(self) -> Decode | None:
        """What turns token ids into text, where a tokenizer is known."""
        return None if self._current is None else self._current.decode

    def use(self, engine: Engine) -> Engine:
        """Attach ``engine`` in the place of the one before."""
        self.seen = True
        if engine is not self._current or self._attached is None:
            self._let_go()
            numbers = engine.step, engine.micro_batch
            self._attached = engine.attach()
            engine.step, engine.micro_batch = numbers
            self._current = engine
        return engine

    def _let_go(self) -> None:
        attached, self._attached = self._attached, None
        if attached is not None:
            attached.remove()

    # -- a trainer

    def _attach_trainer(self, module: types.ModuleType) -> None:
        original = module.Trainer.train

        @functools.wraps(original)
        def train(trainer: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.worker.current or self._training:
                return original(trainer, *args, **kwargs)
            with self._debugged(trainer):
                return original(trainer, *args, **kwargs)

        self._handles.add(rebind(module.Trainer, "train", train))

    @contextmanager
    def _debugged(self, trainer: Any) -> Iterator[None]:
        from ftlab.session.debugging.debug import decoder
        from ftlab.session.integrations.trainer_step import TrainerStep, refuse_trainer

        refuse_trainer(trainer)
        engine = self.make(
            lambda: trainer.model,
            owner=trainer,
            step_number=lambda: trainer.state.global_step,
            decode=decoder(getattr(trainer, "processing_class", None)),
        )
        step = TrainerStep(
            trainer, engine.guard, lambda: self.worker.current, lambda: None
        )
        link = step.install()
        self._training = True
        known = getattr(trainer, "processing_class", None)
        self.wishes.responses.digest = TokenizerWatch(known)
        self.use(engine)
        try:
            yield
        finally:
            self._training = False
            link.remove()
            self._let_go()
