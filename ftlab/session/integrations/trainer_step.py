"""The re-callable step of a transformers Trainer: ``training_step``, one micro-batch.

While linked, ``trainer.training_step`` is wrapped on the instance. Trainers whose step
cannot be called twice with the same result are refused by name.
"""

from collections.abc import Callable
from typing import Any

from ftlab.records.errors import NotReplayableError
from ftlab.records.handle import Handle, rebind

_GENERATING = ("GRPOTrainer", "RLOOTrainer", "PPOTrainer", "OnlineDPOTrainer")
"""Their step generates text into buffers, and counts how often it was called."""

_INSIDE_BACKWARD = ("lomo", "adalomo")


def refuse_trainer(trainer: Any) -> None:
    """Raise if the step of ``trainer`` cannot be executed again.

    Raises
    ------
    NotReplayableError
        The message names what stands in the way.
    """
    reason = _obstacle(trainer)
    if reason is None:
        return
    name = type(trainer).__name__
    msg = f"ftlab.debug cannot pause this {name}: {reason} ftlab.watch still works."
    raise NotReplayableError(msg)


def _obstacle(trainer: Any) -> str | None:
    args = trainer.args
    family = [parent.__name__ for parent in type(trainer).__mro__]
    generating = next((name for name in _GENERATING if name in family), None)
    optimizer = str(getattr(args.optim, "value", args.optim))
    if generating is not None:
        return f"a step of {generating} generates text and keeps it for later steps."
    if getattr(args, "enable_jit_checkpoint", False):
        return (
            "enable_jit_checkpoint=True sets signal handlers, which only the main "
            "thread may do, and training runs on its own thread; set it to False."
        )
    if optimizer in _INSIDE_BACKWARD or "layerwise" in optimizer:
        return f"optim={optimizer!r} changes the weights inside backward."
    if args.world_size > 1 or args.n_gpu > 1:
        count = max(args.world_size, args.n_gpu)
        return f"{count} devices train it, and a step is replayed on one; use one."
    if getattr(trainer, "is_deepspeed_enabled", False):
        return "DeepSpeed steps the optimizer by itself, unseen."
    return None


class TrainerStep:
    """Keeps ``trainer.training_step`` wrapped while installed.

    Parameters
    ----------
    trainer
        The trainer.
    guard
        Makes the step one that can be stopped.
    debugged
        Whether the current call belongs to the debugger's run.
    warn
        Called once when the training runs past the debugger.
    """

    def __init__(
        self,
        trainer: Any,
        guard: Callable[[Callable[..., Any]], Callable[..., Any]],
        debugged: Callable[[], bool],
        warn: Callable[[], None],
    ) -> None:
        self._trainer = trainer
        self._guard = guard
        self._debugged = debugged
        self._warn: Callable[[], None] | None = warn

    def install(self) -> Handle:
        """Wrap the step until the handle is removed."""
        plain = self._trainer.training_step
        guarded = self._guard(plain)

        def training_step(*args: Any, **kwargs: Any) -> Any:
            if self._debugged():
                return guarded(*args, **kwargs)
            warn, self._warn = self._warn, None
            if warn is not None:
                warn()
            return plain(*args, **kwargs)

        return rebind(self._trainer, "training_step", training_step)
