"""Columns that a Trainer removes from its dataset although the user's code reads them.

``remove_unused_columns`` keeps what the model's forward names. What a loss of one's own
takes from the batch, or a forward from its ``**kwargs``, is not named there. Removing
columns is right in most runs; so only what is read of them, in code of the user's own,
is told. The code is read, not called.
"""

import ast
import copy
import inspect
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ftlab.probes.plain import readable
from ftlab.records.handle import HandleStack, rebind

LIBRARIES = ("transformers", "trl", "peft", "torch", "accelerate")
"""Packages whose code reads only what is there."""

DEPTH = 3
"""Calls that a batch is followed through."""

_READERS = ("get", "pop")


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
        _is_own(getattr(type(trainer), name, None)) for name in own
    ):
        return {}
    found: dict[str, str] = {}
    for function, names in _readers(trainer):
        for column in _reads(function, names, trainer, DEPTH):
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


def _readers(trainer: Any) -> Iterator[tuple[Callable[..., Any], set[str]]]:
    """Yield functions of the user's that get a batch, and what they call it."""
    for name in ("compute_loss", "training_step"):
        method = getattr(type(trainer), name, None)
        if method is not None and _is_own(method):
            yield method, set(list(inspect.signature(method).parameters)[2:3])
    for kind in dict.fromkeys(map(type, trainer.model.modules())):
        forward = getattr(kind, "forward", None)
        if forward is not None and _is_own(forward):
            parameters = inspect.signature(forward).parameters.values()
            rest = {each.name for each in parameters if each.kind is each.VAR_KEYWORD}
            if rest:
                yield forward, rest


def _is_own(function: Any) -> bool:
    """Tell whether a function is the user's, not a library's."""
    module = getattr(function, "__module__", None) or ""
    return callable(function) and module.partition(".")[0] not in LIBRARIES


def _reads(
    function: Callable[..., Any], names: Iterable[str], trainer: Any, depth: int
) -> Iterator[str]:
    """Yield the keys that a function reads of what it calls by one of ``names``."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):  # there is no source to be had
        return
    names, known = set(names), _known_to(function)
    thrown = {id(value) for node in ast.walk(tree) if (value := _thrown(node))}
    for node in ast.walk(tree):
        if id(node) in thrown:
            continue
        key = _key(node, names)
        if key is not None:
            column = _constant(key, known)
            if column is not None:
                yield column
        elif isinstance(node, ast.Call) and depth:
            yield from _within(node, names, known, (trainer, depth - 1))


def _known_to(function: Callable[..., Any]) -> dict[str, Any]:
    """Return what a function knows by name from outside."""
    known = inspect.getclosurevars(inspect.unwrap(function))
    return {**known.globals, **known.nonlocals}


def _thrown(node: ast.AST) -> ast.expr | None:
    """Return a value that nobody uses: of a key that is taken out, and left."""
    if isinstance(node, ast.Expr):
        return node.value
    if not isinstance(node, ast.Assign):
        return None
    left = all(isinstance(each, ast.Name) and each.id == "_" for each in node.targets)
    return node.value if left else None


def _key(node: ast.AST, names: set[str]) -> ast.expr | None:
    """Return the key of ``batch[key]``, ``batch.get(key)`` and ``batch.pop(key)``."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        return node.slice if _is_named(node.value, names) else None
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    reads = node.func.attr in _READERS and _is_named(node.func.value, names)
    return node.args[0] if reads and node.args else None


def _is_named(node: ast.expr, names: set[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _constant(node: ast.expr, known: Mapping[str, Any]) -> str | None:
    """Return a key that is written out, or is a constant from outside."""
    if isinstance(node, ast.Name):
        value = known.get(node.id)
    else:
        value = getattr(node, "value", None)
    return value if isinstance(value, str) else None


def _within(
    call: ast.Call,
    names: set[str],
    known: Mapping[str, Any],
    further: tuple[Any, int],
) -> Iterator[str]:
    """Follow a batch that is handed to another function of the user's."""
    trainer, depth = further
    called: Any = None
    skipped = 0
    if isinstance(call.func, ast.Name):
        called = known.get(call.func.id)
    elif isinstance(call.func, ast.Attribute) and _is_named(call.func.value, {"self"}):
        called, skipped = getattr(type(trainer), call.func.attr, None), 1
    if not inspect.isfunction(called) or not _is_own(called):
        return
    parameters = list(inspect.signature(called).parameters)[skipped:]
    given = zip(parameters, call.args, strict=False)
    inside = {name for name, value in given if _is_named(value, names)}
    inside |= {k.arg for k in call.keywords if k.arg and _is_named(k.value, names)}
    if inside:
        yield from _reads(called, inside, trainer, depth)
