"""What one model is compared between: its settings by name."""

from collections.abc import Callable, Mapping
from typing import Any

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
"""What `ftlab.diff` compares one model between."""


def pair_between(model: Any, batch: Mapping[str, Any], between: str) -> Pair:
    """Return the pair that a setting's name stands for.

    Raises
    ------
    BadValueError
        There is no such setting, or it does not apply to this model or batch.
    """
    if between not in BETWEEN:
        msg = f"between={between!r}: it must be one of {', '.join(sorted(BETWEEN))}."
        raise BadValueError(msg)
    try:
        return BETWEEN[between](model, batch)
    except NotApplicableError as reason:
        msg = f"between={between!r} does not apply: {reason}."
        raise BadValueError(msg) from None
