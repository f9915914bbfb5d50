"""Looking at a data loader's batches without any trace: a training sees the same ones.

What draws, counts or remembers is read before and put back after: the random generators
of Python, NumPy and torch, and everything that hangs on the loader, its samplers,
dataset and collator. What is used up by reading is refused before anything is read.
"""

import contextlib
import io
import random
import types
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from ftlab.records.errors import BadValueError
from ftlab.records.unbroken import unbroken

DEPTH = 6
"""How far objects within objects are kept."""
LARGEST = 10_000
"""A container with more items is a data set, not a state."""
FEW = 64
"""A container with more items is kept without what its items hold, and a tensor with
more numbers is no counter."""

_CONTAINERS = (list, dict, set, deque)
_OTHERS = (
    torch.nn.Module,
    torch.optim.Optimizer,
    torch.optim.lr_scheduler.LRScheduler,
    types.ModuleType,
    types.MethodType,
    type,
)
"""Nothing that a loader reads by."""
_GENERATORS: tuple[tuple[Any, Callable[[Any], Any], Callable[[Any, Any], Any]], ...] = (
    (torch.Generator, lambda g: g.get_state(), lambda g, s: g.set_state(s)),
    (random.Random, lambda g: g.getstate(), lambda g, s: g.setstate(s)),
    (np.random.RandomState, lambda g: g.get_state(), lambda g, s: g.set_state(s)),
    (
        np.random.Generator,
        lambda g: g.bit_generator.state,
        lambda g, s: setattr(g.bit_generator, "state", s),
    ),
)


@contextlib.contextmanager
def untouched() -> Iterator["Kept"]:
    """Put random numbers back in the end, and what `Kept` was told of.

    Examples
    --------
    >>> import random
    >>> from ftlab.probes.tokens.untouched import untouched
    >>> before = random.getstate()
    >>> with untouched():
    ...     _ = random.random()
    >>> random.getstate() == before
    True
    """
    python, numbers = random.getstate(), np.random.get_state()  # noqa: NPY002
    cpu = torch.get_rng_state()
    devices = torch.cuda.default_generators if torch.cuda.is_initialized() else ()
    states = [(each, each.get_state()) for each in devices]
    kept = Kept()
    try:
        yield kept
    finally:
        with unbroken():
            kept.restore()
            random.setstate(python)
            np.random.set_state(numbers)  # noqa: NPY002
            torch.set_rng_state(cpu)
            for generator, state in states:
                generator.set_state(state)


class Kept:
    """What objects hold, and what the objects within them hold.

    Examples
    --------
    >>> import types
    >>> from ftlab.probes.tokens.untouched import Kept
    >>> collator = types.SimpleNamespace(calls=0, seen=[])
    >>> kept = Kept()
    >>> kept.add("the collator", collator)
    >>> collator.calls, collator.late = 1, True
    >>> collator.seen.append("row")
    >>> kept.restore()
    >>> collator
    namespace(calls=0, seen=[])
    >>> kept.add("the dataset", types.SimpleNamespace(rows=iter([1, 2])))
    Traceback (most recent call last):
    ...
    ftlab.records.errors.BadValueError: the dataset holds a list_iterator (rows), ...
    """

    def __init__(self) -> None:
        self._known: set[int] = set()
        self._puts: list[Callable[[], Any]] = []

    def add(self, what: str, value: Any, *, used_up: bool = True) -> None:
        """Keep an object.

        Parameters
        ----------
        what
            Its name in words, for a refusal.
        value
            The object.
        used_up
            Whether to refuse iterators within it.
        """
        self._add(value, DEPTH, (what, "") if used_up else None)

    def add_own(self, value: Any) -> None:
        """Keep what an object holds, and its containers, but no objects within it."""
        own = getattr(value, "__dict__", {})
        self._later(_fill, own, dict(own))
        for each in own.values():
            if isinstance(each, _CONTAINERS) and len(each) <= LARGEST:
                self._add_container(each, 0, None)

    def restore(self) -> None:
        """Put everything back as it was."""
        while self._puts:
            self._puts.pop()()

    def _add(self, value: Any, depth: int, place: tuple[str, str] | None) -> None:
        if id(value) in self._known or isinstance(value, _OTHERS):
            return
        self._known.add(id(value))
        for kind, read, write in _GENERATORS:
            if isinstance(value, kind):
                self._later(write, value, read(value))
                return
        if place is not None and _is_used_up(value):
            raise BadValueError(_refusal(value, *place))
        if isinstance(value, torch.Tensor):
            if value.numel() <= FEW:
                self._later(_write, value.detach(), value.detach().clone())
        elif isinstance(value, _CONTAINERS):
            self._add_container(value, depth, place)
        else:
            self._add_object(value, depth, place)

    def _add_container(
        self, value: Any, depth: int, place: tuple[str, str] | None
    ) -> None:
        if len(value) > LARGEST:
            return
        self._later(_fill, value, dict(value) if isinstance(value, dict) else [*value])
        if depth and len(value) <= FEW:
            inside = value.values() if isinstance(value, dict) else value
            for each in list(inside):
                self._add(each, depth - 1, place)

    def _add_object(
        self, value: Any, depth: int, place: tuple[str, str] | None
    ) -> None:
        if isinstance(value, types.FunctionType):
            held = {
                name: cell.cell_contents
                for name, cell in zip(
                    value.__code__.co_freevars, value.__closure__ or (), strict=True
                )
                if cell != types.CellType()
            }
        else:
            own = getattr(value, "__dict__", None)
            if not isinstance(own, dict):
                return
            held = dict(own)
            self._later(_fill, own, held)
        for name, each in held.items() if depth else ():
            self._add(each, depth - 1, place and (place[0], place[1] or name))

    def _later(self, write: Callable[[Any, Any], Any], value: Any, state: Any) -> None:
        self._puts.append(lambda: write(value, state))


def _fill(value: Any, held: Any) -> None:
    """Let a container hold what it held; what is there still is not touched."""
    if isinstance(value, dict):
        for key in [key for key in value if key not in held]:
            del value[key]
        missing = {k: v for k, v in held.items() if value.get(k, value) is not v}
        value.update(missing)
    elif [id(each) for each in value] != [id(each) for each in held]:
        value.clear()
        (value.update if isinstance(value, set) else value.extend)(held)


def _write(value: torch.Tensor, held: torch.Tensor) -> None:
    if not torch.equal(value, held):
        value.copy_(held)


def _is_used_up(value: Any) -> bool:
    # a file is an iterator too, and loggers hold files
    return isinstance(value, Iterator) and not isinstance(value, io.IOBase)


def _refusal(value: Any, what: str, name: str) -> str:
    kind = type(value).__name__
    held = f"{what} holds a {kind} ({name})" if name else f"{what} is a {kind}"
    return (
        f"{held}, which gives each row once: reading from it would take rows away from "
        "the training. Pass the rows that it would give: a batch that you take "
        "yourself, batch=..."
    )


def first_batches(trainer: Any, count: int = 1) -> list[Any]:
    """Return the first batches that a trainer's training would see, leaving no trace.

    They come from the trainer's own data loader and collator. Workers of the loader are
    not started.

    Parameters
    ----------
    trainer
        A transformers ``Trainer``, or one of its kind.
    count
        How many batches.

    Raises
    ------
    BadValueError
        Reading would use up rows, or other processes would have to take part.
    """
    if count < 1:
        msg = f"batches must be 1 or more, found {count}"
        raise BadValueError(msg)
    if getattr(trainer, "train_dataset", None) is None:
        msg = (
            "The trainer has no train_dataset: pass it one, or pass a batch, batch=..."
        )
        raise BadValueError(msg)
    accelerator = getattr(trainer, "accelerator", None)
    if getattr(accelerator, "num_processes", 1) > 1:
        msg = (
            "The trainer's loader takes part in several processes, and would wait for "
            "the others. Take a batch in all of them and pass it, batch=..."
        )
        raise BadValueError(msg)
    with untouched() as kept:
        kept.add("the dataset", trainer.train_dataset)
        kept.add("the collator", getattr(trainer, "data_collator", None))
        for each in (
            trainer,
            accelerator,
            getattr(accelerator, "gradient_state", None),
        ):
            kept.add_own(each)
        with _alone(trainer.args):
            return _taken(trainer, kept, count)


def _taken(trainer: Any, kept: Kept, count: int) -> list[Any]:
    loader = trainer.get_train_dataloader()
    kept.add("the data loader", loader)
    iterator = iter(loader)
    try:
        return [batch for batch, _ in zip(iterator, range(count), strict=False)]
    finally:
        if hasattr(iterator, "close"):
            iterator.close()


@contextlib.contextmanager
def _alone(args: Any) -> Iterator[None]:
    """Start no workers: what the loader draws for them is drawn all the same."""
    names = ("num_workers", "prefetch_factor", "persistent_workers")
    before = {name: getattr(args, f"dataloader_{name}", None) for name in names}
    try:
        for name, value in zip(names, (0, None, False), strict=True):
            if hasattr(args, f"dataloader_{name}"):
                setattr(args, f"dataloader_{name}", value)
        yield
    finally:
        for name, value in before.items():
            if hasattr(args, f"dataloader_{name}"):
                setattr(args, f"dataloader_{name}", value)
