"""Columns that a Trainer removes from its dataset although the user's code reads them.

``remove_unused_columns`` keeps what the model's forward names. What a loss of one's own
takes from the batch, a forward from its ``**kwargs``, or a collator from the rows, is
not named there. Removing columns is right in most runs; so only what is read of them,
in code of the user's own, is told. The code is read, not called.
"""

import copy
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ftlab.probes.plain import readable
from ftlab.records.handle import HandleStack, rebind
from ftlab.session.integrations.reading_code import is_own, keys_read

Reader = tuple[Callable[..., Any], set[str], type]
"""A function, what it calls a batch or rows, and the class of its methods."""


def removed_and_read(trainer: Any) -> dict[str, list[dict[str, str]]]:
    """Tell the columns that are removed and read, each with the function that reads.

    Returns
    -------
    dict
        Such as ``{"removed_and_read": [{"column": "weights", "where":
        "Weighted.compute_loss"}]}``; empty where the dataset does not name its columns.
    """
    columns = _columns(trainer.train_dataset)
    return {} if columns is None else _told(columns, _read_beyond(trainer))


class FirstRow:
    """Tells the same of the first row, where only rows name a dataset's columns.

    It is heard where the Trainer takes the columns out; in a process of a loader it
    cannot be.
    """

    def __init__(self) -> None:
        self._handles = HandleStack()

    def hear(
        self, trainer: Any, loader: Any, tell: Callable[[dict[str, Any]], object]
    ) -> None:
        """Wait for it; ``tell`` gets what `removed_and_read` would return."""
        self.remove()
        collator = getattr(loader, "collate_fn", None)
        here = getattr(loader, "num_workers", None) == 0
        remove = getattr(collator, "_remove_columns", None)
        if not here or remove is None or _columns(trainer.train_dataset) is not None:
            return
        beyond = readable(found=lambda: _read_beyond(trainer)).get("found", {})

        def around(row: Any) -> Any:
            self.remove()
            if isinstance(row, dict):
                tell(_told(set(row), beyond))
            return remove(row)

        if beyond:
            self._handles.add(rebind(collator, "_remove_columns", around))

    def remove(self) -> None:
        """Wait no longer."""
        self._handles.remove()


def _told(
    columns: set[str], beyond: Mapping[str, str]
) -> dict[str, list[dict[str, str]]]:
    found = [{"column": c, "where": w} for c, w in beyond.items() if c in columns]
    return {"removed_and_read": found}


def _read_beyond(trainer: Any) -> dict[str, str]:
    """Name what the user's code reads and the trainer does not keep, and who reads."""
    own = ("get_train_dataloader", "_remove_unused_columns")
    if not getattr(trainer.args, "remove_unused_columns", False) or any(
        is_own(getattr(type(trainer), name, None)) for name in own
    ):
        return {}
    found: dict[str, str] = {}
    for function, names, owner in _readers(trainer):
        for column in keys_read(function, names, owner):
            found.setdefault(column, function.__qualname__)
    if found:
        # What it keeps is worked out on a copy: on the trainer itself it would stay.
        twin = copy.copy(trainer)
        twin._set_signature_columns_if_needed()  # noqa: SLF001  nothing public tells it
        for column in twin._signature_columns:  # noqa: SLF001  as above
            found.pop(column, None)
    return found


def _columns(dataset: Any) -> set[str] | None:
    """Name a dataset's columns; ``None`` where a row would have to be loaded for it."""
    if isinstance(dataset, list) and dataset and isinstance(dataset[0], dict):
        return set(map(str, dataset[0]))
    names = getattr(dataset, "column_names", None)
    return set(names) if isinstance(names, list) else None


def _readers(trainer: Any) -> Iterator[Reader]:
    """Yield the user's functions that get a batch or rows."""
    found = (*_of_the_trainer(trainer), *_of_the_model(trainer.model))
    for function, names, owner in (*found, *_of_the_collator(trainer.data_collator)):
        if is_own(function):
            yield function, names, owner


def _of_the_trainer(trainer: Any) -> Iterator[Reader]:
    for name in ("compute_loss", "training_step"):
        method = getattr(type(trainer), name, None)
        if method is not None:
            yield method, set(_parameters(method)[2:3]), type(trainer)


def _of_the_model(model: Any) -> Iterator[Reader]:
    for kind in dict.fromkeys(map(type, model.modules())):
        forward = getattr(kind, "forward", None)
        if forward is None:
            continue
        parameters = inspect.signature(forward).parameters.values()
        rest = {each.name for each in parameters if each.kind is each.VAR_KEYWORD}
        if rest:
            yield forward, rest, kind


def _of_the_collator(collator: Any) -> Iterator[Reader]:
    rows = set(_parameters(collator)[:1])
    while isinstance(collator, functools.partial):
        collator = collator.func
    if inspect.isfunction(collator):
        yield collator, rows, type(collator)
    elif inspect.ismethod(collator):
        yield collator.__func__, rows, type(collator.__self__)
    elif collator is not None:
        yield type(collator).__call__, rows, type(collator)
        torch_call = getattr(type(collator), "torch_call", None)
        if torch_call is not None:  # of transformers' own collators
            yield torch_call, set(_parameters(torch_call)[1:2]), type(collator)


def _parameters(function: Callable[..., Any]) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # a function in C has none to be read
        return []
