"""What one model is compared between: its settings by name."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ftlab.executions.cached import cache
from ftlab.executions.compiled import compiled
from ftlab.executions.difference import compare
from ftlab.executions.pairs import (
    Pair,
    adapter,
    attention,
    checkpointing,
    dtype,
    merge,
    mode,
)
from ftlab.executions.parts import packing, padding
from ftlab.executions.side import NotApplicableError
from ftlab.records.difference import Differences
from ftlab.records.errors import BadValueError

BETWEEN: Mapping[str, Callable[[Any, Mapping[str, Any]], Pair]] = {
    "adapter": adapter,
    "attention": attention,
    "checkpointing": checkpointing,
    "dtype": dtype,
    "merge": merge,
    "mode": mode,
    "packing": packing,
    "padding": padding,
}
"""What `ftlab.diff` compares one model between, module by module on the same inputs."""
AS_THEY_ARE: Mapping[str, Callable[[Any, Mapping[str, Any]], Differences]] = {
    "cache": cache,
    "compile": compiled,
}
"""The same for what modes cannot see into, or is no single call."""
WAYS = tuple(sorted([*BETWEEN, *AS_THEY_ARE]))


def differences_between(
    model: Any, batch: Mapping[str, Any], between: str
) -> Differences:
    """Compare a model under the two settings that a name stands for.

    Raises
    ------
    BadValueError
        There is no such setting, or it does not apply to this model or batch.
    """
    if between not in AS_THEY_ARE:
        return compare(pair_between(model, batch, between))
    with _refusing(between):
        return AS_THEY_ARE[between](model, batch)


def pair_between(model: Any, batch: Mapping[str, Any], between: str) -> Pair:
    """Return the pair that a setting's name stands for.

    Raises
    ------
    BadValueError
        There is no such setting, or it does not apply to this model or batch.
    """
    if between not in BETWEEN:
        msg = f"between={between!r}: it must be one of {', '.join(WAYS)}."
        raise BadValueError(msg)
    with _refusing(between):
        return BETWEEN[between](model, batch)


@contextlib.contextmanager
def _refusing(between: str) -> Iterator[None]:
    try:
        yield
    except NotApplicableError as reason:
        msg = f"between={between!r} does not apply: {reason}."
        raise BadValueError(msg) from None
