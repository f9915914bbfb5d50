"""`ftlab.memory`: what a step takes, predicted and measured, and who holds what now."""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, overload

import torch

from ftlab.executions.side import NotApplicableError
from ftlab.laboratory.memory.cuda_snapshot import opened
from ftlab.laboratory.memory.holdings import holdings
from ftlab.laboratory.memory.optimizers import optimizer_maker
from ftlab.laboratory.memory.step import StepPlan, executed, rehearsed, sized
from ftlab.records.errors import BadValueError, FtlabWarning
from ftlab.session.given_models import batch_of, model_of, on_device
from ftlab.session.integrations.transformers import autocast_of, is_trainer
from ftlab.views.memory.cuda_snapshot import CudaMemoryView
from ftlab.views.memory.holdings import HoldingsView
from ftlab.views.memory.step_memory import StepMemoryView

FITTING = "auto"


@overload
def memory() -> HoldingsView: ...


@overload
def memory(model: str | Path) -> CudaMemoryView: ...


@overload
def memory(
    model: Any,
    batch: Any = None,
    optimizer: Any = FITTING,
    dtype: Any = None,
    checkpointing: bool | None = None,
    *,
    autocast: Any = None,
    accumulating: bool = False,
) -> StepMemoryView: ...


def memory(
    model: Any = None,
    batch: Any = None,
    optimizer: Any = FITTING,
    dtype: Any = None,
    checkpointing: bool | None = None,
    *,
    autocast: Any = None,
    accumulating: bool = False,
) -> StepMemoryView | HoldingsView | CudaMemoryView:
    """Predict what a training step takes in memory, and measure it; or say who holds.

    The prediction is a rehearsal: forward, backward and the optimizer's step run on a
    copy of the model that has shapes and no values, so any architecture is understood,
    and each tensor lives as long as it would. Weights of few bits, adapters,
    checkpointing, copies of logits and what backward needs in passing are all in it. Of
    a Llama of 7B with LoRA and checkpointing it took 74 s on one busy core, and the
    process stayed at 0.5 GiB.

    With a real batch the step is executed as well, on copies of the trained weights,
    and everything is put back: weights, gradients, buffers, random generators. A watch
    does not see it.

    Parameters
    ----------
    model
        A model, on the meta device too, or a trainer, whose arguments then say what the
        others are by default. Without one it is shown who holds what now.
        A file of `memory_snapshot` or PyTorch's is shown, and no code in it runs.
    batch
        ``(rows, length)`` for a prediction alone, or what the model is called with, its
        labels too, for prediction and measurement.
    optimizer
        Its name as in ``TrainingArguments.optim`` (``"adamw"``, ``"sgd"``,
        ``"adamw_8bit"``, ...), a live one, one like which is made, or ``None`` for a
        step that ends with backward. By default a trainer's, else AdamW.
    dtype
        Predict for weights of another one, such as ``torch.bfloat16``.
    checkpointing
        With gradient checkpointing or without; by default as it is set.
    autocast
        The dtype that forward computes in under autocast.
    accumulating
        Whether gradients of an earlier micro-batch are there already.

    Returns
    -------
    StepMemoryView, HoldingsView or CudaMemoryView
        Of a step: `StepMemoryView.predicted`, ``measured`` and ``lifetimes``.

    Raises
    ------
    BadValueError
        Something else was passed, the batch has no labels, or the model does not run on
        it.

    Notes
    -----
    Of a mixture of experts, tokens are taken to be dealt to experts evenly. What an
    operation takes within itself and gives back is not counted, and neither is what
    the allocator keeps: on CUDA leave some percent for both.

    Examples
    --------
    >>> import ftlab
    >>> from ftlab.faults.builders.tiny import llama
    >>> found = ftlab.memory(llama(), batch=(4, 16))
    >>> found.predicted.phase_of(found.predicted.peak_at)
    'backward'
    >>> ftlab.memory(llama(), batch=4)
    Traceback (most recent call last):
    ...
    ftlab.records.errors.BadValueError: batch=4: pass (rows, length), such as \
batch=(4, 512), or what the model is called with: next(iter(loader)).
    """
    if model is None:
        return HoldingsView(holdings())
    if isinstance(model, str | Path) and batch is None and not Path(model).is_dir():
        return CudaMemoryView(opened(Path(model)))
    chosen, plan = _planned(
        model,
        optimizer=optimizer,
        dtype=_dtype(dtype, "dtype"),
        checkpointing=checkpointing,
        autocast=_dtype(autocast, "autocast"),
        accumulating=bool(accumulating),
    )
    given, real = _given(batch, chosen)
    if real and plan.dtype is not None:
        msg = (
            f"dtype={dtype!r} is for a prediction: pass batch=(rows, length), or load "
            "the model in that dtype."
        )
        raise BadValueError(msg)
    predicted, note = _rehearsed(chosen, given, plan, needed=not real)
    measured = _executed(chosen, given, plan) if real else None
    return StepMemoryView(predicted, measured, note)


def _planned(target: Any, *, optimizer: Any, **given: Any) -> tuple[Any, StepPlan]:
    """Return the model and how its step is made, a trainer's as its arguments say."""
    model = model_of(target, "model", "memory(model, batch)")
    fitting = isinstance(optimizer, str) and optimizer == FITTING
    if is_trainer(target):
        args = target.args
        given["autocast"] = given["autocast"] or autocast_of(target)
        if given["checkpointing"] is None and args.gradient_checkpointing:
            given["checkpointing"] = True
        if fitting:
            optimizer = target.optimizer or getattr(args.optim, "value", args.optim)
    elif fitting:
        optimizer = "adamw"
    return model, StepPlan(optimizer_maker(optimizer), **given)


def _given(batch: Any, model: Any) -> tuple[Mapping[str, Any], bool]:
    """Return the batch, and whether it has values."""
    if isinstance(batch, tuple | list) and len(batch) == 2:
        rows, length = batch
        if type(rows) is int and type(length) is int and rows > 0 < length:
            return sized(rows, length), False
    if batch is None or not hasattr(batch, "keys"):
        msg = (
            f"batch={batch!r}: pass (rows, length), such as batch=(4, 512), or what "
            "the model is called with: next(iter(loader))."
        )
        raise BadValueError(msg)
    if next(model.parameters()).is_meta:
        msg = (
            f"this {type(model).__name__} is on the meta device, where nothing can be "
            "measured; pass a size: memory(model, batch=(rows, length))."
        )
        raise BadValueError(msg)
    return on_device(batch_of(batch), model), True


def _rehearsed(
    model: Any, batch: Mapping[str, Any], plan: StepPlan, *, needed: bool
) -> tuple[Any, str]:
    """Return the prediction, or why there is none."""
    try:
        return rehearsed(model, batch, plan), ""
    except (BadValueError, NotApplicableError) as error:
        raise BadValueError(str(error)) from error
    except Exception as error:
        said = f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
        note = f"{type(model).__name__} does not run without values ({said})"
        if needed:
            msg = f"{note}; pass a real batch, to have it measured: memory(model, b)."
            raise BadValueError(msg) from error
        return None, note


def _executed(model: Any, batch: Mapping[str, Any], plan: StepPlan) -> Any:
    try:
        return executed(model, batch, plan)
    except (TypeError, ValueError, RuntimeError, IndexError) as error:
        if isinstance(error, BadValueError | torch.OutOfMemoryError):
            raise
        said = f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
        msg = (
            f"{type(model).__name__} cannot be trained on this batch ({said}); pass "
            "what its forward takes: memory(model, next(iter(loader)))."
        )
        raise BadValueError(msg) from error


def _dtype(given: Any, name: str) -> torch.dtype | None:
    found = getattr(torch, given, given) if isinstance(given, str) else given
    if found is None or (isinstance(found, torch.dtype) and found.is_floating_point):
        return found
    msg = f'{name}={given!r}: pass a dtype of floats: {name}="bfloat16".'
    raise BadValueError(msg)


@contextmanager
def memory_snapshot(file: str | Path) -> Iterator[CudaMemoryView]:
    """Record what CUDA's allocator does in the block: its last 100,000 events.

    The file is written when the block ends, by running out of memory too.
    ``ftlab.memory(file)`` opens it, as does PyTorch's viewer (pytorch.org/memory_viz).

    Examples
    --------
    >>> import ftlab
    >>> with ftlab.memory_snapshot("nowhere/cuda.pickle"):
    ...     pass
    Traceback (most recent call last):
    ...
    ftlab.records.errors.BadValueError: 'nowhere/cuda.pickle' is in no folder; call \
memory_snapshot('cuda.pickle').
    """
    path, found, msg = Path(file), list[Any](), ""
    if not path.parent.is_dir():
        msg = f"{str(path)!r} is in no folder; call memory_snapshot('cuda.pickle')."
    elif not torch.cuda.is_available():
        msg = "there is no CUDA device to record; on a CPU: ftlab.memory(model, batch)."
    elif torch._C._cuda_isHistoryEnabled():  # noqa: SLF001  torch has no other
        msg = "end the other recording: torch.cuda.memory._record_memory_history(None)."
    if msg:
        raise BadValueError(msg)
    torch.cuda.memory._record_memory_history(stacks="python", max_entries=100_000)  # noqa: SLF001  documented
    try:
        yield CudaMemoryView(found)
    except BaseException as error:
        error.add_note(_failure(path, found) or f"ftlab.memory({str(path)!r}) shows it")
        raise
    if said := _failure(path, found):
        warnings.warn(said, FtlabWarning, stacklevel=3)


def _failure(path: Path, found: list[Any]) -> str:
    """Write the file and stop recording; return what went wrong."""
    try:
        torch.cuda.memory._dump_snapshot(str(path))  # noqa: SLF001  documented
        found += opened(path)
    except (OSError, RuntimeError, MemoryError, BadValueError) as error:
        return f"CUDA's memory was not recorded to {str(path)!r}: {error}"
    finally:
        torch.cuda.memory._record_memory_history(None)  # noqa: SLF001  documented
    return ""
