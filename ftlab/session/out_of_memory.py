"""Out of memory, and errors of CUDA, are explained where a watch ends.

They go on to be raised unchanged.
"""

import contextlib
import re
import time
import traceback
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeGuard

import torch

from ftlab.probes.holding.sources import shown_place
from ftlab.records.event import Event
from ftlab.records.holdings import Holdings, Owner
from ftlab.records.sizes import size
from ftlab.replay.tracing.site import INSTALLED
from ftlab.session.cuda_errors import cuda_words
from ftlab.session.observation import Observation

LARGEST = 4
"""Holders that are named."""

_WORDS = re.compile(
    r"not enough memory|can't allocate memory|out of memory|failed to allocate", re.I
)
_ASKED = re.compile(r"allocate ([\d.]+) ?(bytes|[KMGT]iB)")
_OURS = str(Path(__file__).parents[1]) + "/"
_UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def is_out_of_memory(error: BaseException | None) -> bool:
    """Tell whether an error says that memory did not suffice.

    Examples
    --------
    >>> from ftlab.session.out_of_memory import is_out_of_memory
    >>> is_out_of_memory(MemoryError()), is_out_of_memory(RuntimeError("shapes"))
    (True, False)
    """
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and bool(_WORDS.search(str(error)))


def _is_ours(note: Any) -> bool:
    """Tell a note of ftlab: a watch within another one has explained the error."""
    return str(note).startswith("ftlab: ")


def explain_error(
    error: BaseException | None,
    observation: Observation | None,
    **plan: Any,
) -> None:
    """Add to an error of memory or of CUDA what it comes from, as its note.

    The run gets it too. Nothing is raised: the error itself matters more.
    """
    told = getattr(error, "__notes__", ())
    if error is None or observation is None or any(map(_is_ours, told)):
        return
    try:
        subject = observation.subject
        if is_out_of_memory(error):
            # late: a watch that meets no such error does not need what explains it
            from ftlab.laboratory.memory.holdings import holdings

            words = "\n  ".join(_explained(error, holdings(), subject, plan))
        else:
            words = "\n  ".join(cuda_words(error, subject.model))
        if not words:
            return
        error.add_note(words)
        step = observation.recorder.step
        detail = {"error": type(error).__name__}
        observation.background.put(Event("note", step, time.time(), words, detail))
    except Exception as failed:  # noqa: BLE001  there may be no memory for that either
        error.add_note(f"ftlab could not explain this: {type(failed).__name__}")


def _explained(
    error: BaseException, held: Holdings, subject: Any, settings: Mapping[str, Any]
) -> Iterator[str]:
    from ftlab.laboratory.memory.optimizers import optimizer_maker
    from ftlab.laboratory.memory.remedies import SECONDS, SLACK, fitting
    from ftlab.laboratory.memory.room import room_beside
    from ftlab.laboratory.memory.step import StepPlan, rehearsed, sized

    model = subject.model
    yield f"ftlab: out of memory{_asked_at(error)}"
    yield from _holders(held)
    shape = _shape(error.__traceback__)
    if shape is None:
        yield "no batch with input_ids was found, so no change was tried."
        return
    optimizers = list(subject.live_optimizers.values())
    plan = StepPlan(optimizer_maker(optimizers[0] if optimizers else None), **settings)
    own = sum(e.bytes for e in held.held if e.owner in _OF_THE_STEP)
    room = room_beside(model) + own
    peak = rehearsed(model, sized(*shape), plan).peak
    what = f"a step of {shape[0]} x {shape[1]} tokens is predicted to take {size(peak)}"
    yield f"{what}; there are {size(room)} for it."
    if peak <= SLACK * room:
        yield (
            "So the step itself fits: what did not is the allocation above, or what "
            "grows from step to step (see ftlab.memory() and watch.findings)."
        )
    elif found := fitting(model, shape, plan, room):
        took = size(found.peak)
        yield f"Smallest change that fits: {found.words} ({took} predicted)."
    else:
        yield (
            f"No change that was tried in {SECONDS:.0f} s fits: try a smaller model, "
            "weights in 4 bits, or LoRA."
        )


_MADE: Owner = "reached by no name"
_OF_THE_STEP = ("weights", "gradients", "optimizer state", "batches", _MADE)


def _asked_at(error: BaseException) -> str:
    """Say how much was asked for, and the innermost line of the user's."""
    found = _ASKED.search(str(error))
    asked = f", {size(float(found[1]) * _UNITS[found[2]])} asked for" if found else ""
    frames = list(traceback.walk_tb(error.__traceback__))
    hidden = (*INSTALLED, _OURS)
    own = [e for e in frames if not e[0].f_code.co_filename.startswith(hidden)]
    for frame, line in (own or frames)[-1:]:
        code = frame.f_code
        place = f"{shown_place(code.co_filename, line)} {code.co_name}"
        return f"{asked} at {place.removesuffix(' <module>')}"
    return asked


def _holders(held: Holdings) -> Iterator[str]:
    """Name what the step has made so far, which only its frames hold, and the rest."""
    made = held.total(_MADE)
    if made:
        yield f"{size(made)} made by the step that failed (no name reaches it)"
    named = [each for each in held.held if each.owner != _MADE]
    for each in named[:LARGEST]:
        yield f"{size(each.bytes)} {each.owner}: {each.path} ({each.what})"


def _shape(trace: types.TracebackType | None) -> tuple[int, int] | None:
    """Return rows and tokens of the batch that the innermost of the frames has.

    It is what is called input_ids, or else any table of whole numbers: a loop may call
    its tokens as it likes.
    """
    others = []
    for frame, _ in reversed(list(traceback.walk_tb(trace))):
        code = frame.f_code
        for name, value in list(frame.f_locals.items()):
            if code.co_name == "<module>" and name not in code.co_names:
                continue  # of another cell of the notebook
            ids = value if name == "input_ids" else None
            if ids is None and hasattr(value, "keys"):
                with contextlib.suppress(KeyError, TypeError, AttributeError):
                    ids = value["input_ids"]
            if _is_table(ids):
                return ids.shape[0], ids.shape[1]
            if _is_table(value) and value.dtype == torch.int64:
                others.append((value.shape[0], value.shape[1]))
    return others[0] if others else None


def _is_table(value: Any) -> TypeGuard[torch.Tensor]:
    return isinstance(value, torch.Tensor) and value.dim() == 2
