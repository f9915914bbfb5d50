"""The re-callable step of a transformers Trainer: ``training_step``, one micro-batch.

While linked, ``trainer.training_step`` is wrapped on the instance. What a step keeps in
its trainer (counters, metrics, text that it has generated for several steps) is put
back before the step is executed again, see `ftlab.replay.capsules.side_state`; no list
of classes is needed for that. Refused by name is what is sure not to work.

Tested with transformers 5.23 and TRL 1.16, on tiny models: each run was paused in an
optimizer step, taken back within the step, resumed, and had then the logs and the
weights of a run without a debugger, bit for bit.

=======================================================  ==============================
trainer                                                  executed again
=======================================================  ==============================
transformers Trainer, Seq2SeqTrainer                     bit-equal
SFT, DPO, KTO, Reward                                    bit-equal
ORPO, CPO, TPO, DPO with BEMA (experimental)             bit-equal
GRPO, RLOO, Distillation                                 bit-equal, generation included
GMPO, A2PO, OnlineDPO, GKD, GOLD, SDFT, SDPO, IW-OPD     bit-equal, generation included
(experimental)
any of them with ``use_vllm=True``                       refused
PPO of older TRL, and trainers with a loop of their own  refused
AsyncGRPO, AsyncDistillation, ServerDistillation         not tested: they need a server
=======================================================  ==============================

A step that generates text does it again whenever it is executed again, under the tracer
for the first time: that takes long, and reward functions are called again. Other
trainers are judged when a step is executed again: if its loss differs, the report says
so and names what the step has changed in the trainer and nobody could put back.
"""

import warnings
from collections.abc import Callable
from typing import Any

from ftlab.records.errors import FtlabWarning, NotReplayableError
from ftlab.records.handle import Handle, rebind

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
    optimizer = str(getattr(args.optim, "value", args.optim))
    loop = _own_loop(type(trainer))
    if loop:
        return (
            f"{loop}.train() is a loop of its own, which never calls training_step. "
            "Write its step as a function, for ftlab.debug(step, batches, model=model)."
        )
    if getattr(args, "use_vllm", False):
        return (
            "use_vllm=True generates text in an engine whose state cannot be put back, "
            "so that a step does not repeat; set it to False to debug."
        )
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


def _own_loop(kind: type) -> str:
    """Name the class whose ``train`` leaves out that of transformers, ``""`` if none.

    A ``train`` that prepares something and calls the one that it overrides does not.
    """
    for parent in kind.__mro__:
        own = getattr(vars(parent).get("train"), "__code__", None)
        if own is None or "training_step" in own.co_names:
            continue
        if parent.__module__.startswith("transformers."):
            return ""
        goes_on = {"_inner_training_loop"} & {*own.co_names}
        if not goes_on and "super" not in own.co_names:
            return parent.__name__
    return ""


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


def warn_unpaused() -> None:
    """Say that training runs past the debugger."""
    msg = (
        "trainer.train() was called directly, so this run is not debugged and never "
        "pauses. Call run() on the debugger that ftlab.debug() returned, or close() it."
    )
    warnings.warn(msg, FtlabWarning, stacklevel=4)
