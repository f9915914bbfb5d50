"""Dry steps under the recorder: real steps on real batches, which are undone later.

The records go into a run in memory, so that the rules judge two dry steps as they judge
any others. What a step raises is kept and told; it is the user's to see.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ftlab.probes.facts import facts_signature, read_facts
from ftlab.probes.recorder import Recorder
from ftlab.probes.standard import standard_probes
from ftlab.probes.subject import Subject
from ftlab.probes.tokenizers.folder_tokenizer import loaded_from
from ftlab.probes.tokenizers.source_folder import first_look
from ftlab.records.step import StepRecord
from ftlab.runlog.run import Run
from ftlab.session.preflight.failing import Failure, NoLossError, failure_of
from ftlab.session.preflight.given import Given

STEPS = 2
"""With LoRA the first gradient of A is 0: B is. The second step tells more."""


@dataclass(slots=True)
class DryRun:
    """What came of the dry steps.

    Attributes
    ----------
    run
        What was recorded.
    losses
        Of the steps that came through, as the step returned them.
    failure
        What a step raised, and where; ``None`` where all came through.
    why_not
        Why there was no dry step; ``""`` where there was one.
    """

    run: Run = field(default_factory=Run)
    losses: list[float] = field(default_factory=list)
    failure: Failure | None = None
    why_not: str = ""


class _Sink:
    """Takes records into a run, and reads facts anew when they change."""

    def __init__(self, run: Run, subject: Subject) -> None:
        self._run = run
        self._subject = subject
        self._signature: Any = None

    def read(self, step: int) -> None:
        """Read the facts if they are not the known ones."""
        signature = facts_signature(self._subject)
        if signature != self._signature:
            self._signature = signature
            self._run.append(read_facts(self._subject, step))

    def __call__(self, record: Any) -> None:
        if isinstance(record, StepRecord):
            self.read(record.step)
        self._run.append(record)


def run_dry(
    dry: DryRun,
    subject: Subject,
    step: Callable[[Any], Any] | None,
    batches: Sequence[Any],
) -> None:
    """Run ``step`` on each of ``batches`` while a recorder fills ``dry.run``.

    The facts are read in any case; without a step or batches that is all.
    """
    sink = _Sink(dry.run, subject)
    sink.read(0)
    if step is None or not batches:
        _read_folder(sink, subject)
        return
    probes = standard_probes(interval=1, activations=False)
    with Recorder(subject, probes, sink):
        for batch in batches:
            try:
                dry.losses.append(number(step(batch)))
            except Exception as error:  # noqa: BLE001  told as the item that failed
                dry.failure = failure_of(error, subject.model)
                return


def _read_folder(sink: _Sink, subject: Subject) -> None:
    """Look at the files of the tokenizer; a recorder does it with the first step."""
    folder = loaded_from(subject.tokenizer)
    if folder is not None:
        sink(first_look(folder, subject))


def number(loss: Any) -> float:
    """Return what a step returned as a number, NaN for what is none."""
    if isinstance(loss, torch.Tensor):
        return float(loss.detach().float().mean())
    return float(loss) if isinstance(loss, int | float) else float("nan")


def plain_step(given: Given, optimizers: Sequence[Any]) -> Callable[[Any], Any]:
    """Return a correct loop body for a model that computes its own loss.

    It updates with ``optimizers``, moves the schedulers after them, and computes in the
    precision that the arguments ask for.
    """
    model, scaler = given.model, given.scaler
    scaled = scaler is not None and scaler.is_enabled()
    precision = torch.float16 if scaled else asked_precision(given.args)

    def step(batch: Any) -> Any:
        model.train()
        model.zero_grad()
        with autocast(model, precision):
            loss = loss_of(_called(model, batch))
        (scaler.scale(loss) if scaled else loss).backward()
        for optimizer in optimizers:
            if scaled:
                scaler.step(optimizer)
            else:
                optimizer.step()
        if scaled:
            scaler.update()
        for scheduler in given.schedulers:
            if not hasattr(scheduler, "mode"):  # ReduceLROnPlateau waits for a metric
                scheduler.step()
        return loss.detach()

    return step


def forward_only(model: torch.nn.Module) -> Callable[[Any], Any]:
    """Return a step without backward, for a model of which nothing is trainable."""

    def step(batch: Any) -> Any:
        model.train()
        with torch.no_grad():
            return loss_of(_called(model, batch))

    return step


def loss_of(output: Any) -> torch.Tensor:
    """Find the loss in what a model returned.

    Raises
    ------
    NoLossError
        There is none.
    """
    found = output
    if isinstance(output, Mapping):
        found = output.get("loss")
    elif hasattr(output, "loss"):
        found = output.loss
    elif isinstance(output, tuple | list) and output:
        found = output[0]
    if isinstance(found, torch.Tensor) and found.numel() == 1:
        return found.reshape(())
    has = (
        f"a tensor of shape {tuple(found.shape)}"
        if isinstance(found, torch.Tensor)
        else type(output).__name__
    )
    msg = (
        f"the model returned no loss but {has}; pass your loop's body: "
        "preflight(model, optimizer=optimizer, step=step, batches=batches)"
    )
    raise NoLossError(msg)


def _called(model: torch.nn.Module, batch: Any) -> Any:
    if isinstance(batch, Mapping):
        return model(**{name: _there(value, model) for name, value in batch.items()})
    if isinstance(batch, tuple | list):
        return model(*(_there(value, model) for value in batch))
    return model(_there(batch, model))


def _there(value: Any, model: torch.nn.Module) -> Any:
    """Move a tensor to where the model is, as a loop does."""
    if not isinstance(value, torch.Tensor):
        return value
    return value.to(next(model.parameters()).device)


def asked_precision(args: Any) -> torch.dtype | None:
    """Return the dtype that trainer arguments ask to compute in, if they ask for one.

    Examples
    --------
    >>> from ftlab.session.preflight.dry_run import asked_precision
    >>> asked_precision({"bf16": True}), asked_precision(None)
    (torch.bfloat16, None)
    """
    asked = args if isinstance(args, Mapping) else {}
    for name, dtype in (("bf16", torch.bfloat16), ("fp16", torch.float16)):
        if asked.get(name, getattr(args, name, False)) is True:
            return dtype
    return None


@contextlib.contextmanager
def autocast(model: torch.nn.Module, dtype: torch.dtype | None) -> Iterator[None]:
    """Compute in ``dtype`` where the model is; do nothing for ``None``."""
    if dtype is None:
        yield
        return
    device = next(model.parameters()).device.type
    with torch.autocast(device, dtype):
        yield


def stand_in(model: torch.nn.Module) -> list[Any]:
    """Make an optimizer that changes nothing, so that steps are seen without one."""
    trained = [p for p in model.parameters() if p.requires_grad]
    return [torch.optim.SGD(trained, lr=0.0)] if trained else []
