"""One forward of a batch, and what it shows of each block and part of a model.

Who calls whom: `look` pairs the model with the library's own modules, puts hooks on
blocks and on what is to be checked, and runs the batch. Each check is run in the hook
of its module, where what it was given is at hand, so that nothing is kept.
"""

import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import torch

from ftlab.executions.pairs import evaluating
from ftlab.laboratory.activations import causality
from ftlab.laboratory.activations.counterpart import Counterparts
from ftlab.laboratory.activations.initial import starts
from ftlab.laboratory.activations.within import Within
from ftlab.laboratory.effects import unmoved
from ftlab.records.activation import (
    ActivationLook,
    BlockActivations,
    PartFault,
    PartSeverity,
)
from ftlab.records.errors import BadValueError


def look(
    model: torch.nn.Module, batch: Mapping[str, Any], *, fresh: bool
) -> ActivationLook:
    """Run a batch, and leave the model as it was."""
    with unmoved(model, batch), evaluating(model), torch.no_grad():
        pairs = Counterparts(model)
        given = {**_without_cache(pairs, model), **batch}
        within = Within(model, given, pairs, fresh)
        with within.listening():
            _call(model, given)
        blocks = tuple(within.blocks())
        faults = [*within.faults, *_of_depth(blocks)]
        if within.causal:
            faults += _causal(within, given, pairs.foreign)
        parameters, wrong, unknown = starts(model, pairs, fresh=fresh)
    return ActivationLook(
        type(model).__name__,
        len(within.grid.rows) if within.grid else 0,
        blocks,
        tuple(_together([*faults, *wrong])),
        tuple(parameters),
        tuple(within.parts.items()),
        tuple(dict.fromkeys([*pairs.remarks, *within.failed, *unknown])),
    )


def _call(model: torch.nn.Module, batch: Mapping[str, Any]) -> None:
    """Run the forward.

    Raises
    ------
    BadValueError
        It cannot be called with this batch.
    """
    try:
        model(**batch)
    except (TypeError, ValueError, RuntimeError, IndexError) as error:
        said = f"{type(error).__name__}: {str(error).splitlines()[0][:160]}"
        msg = (
            f"{type(model).__name__} cannot be called with this batch ({said}); pass "
            "what its forward takes: activations(model, next(iter(loader)))."
        )
        raise BadValueError(msg) from error


def _without_cache(pairs: Counterparts, model: torch.nn.Module) -> dict[str, Any]:
    """Keep a model from filling a cache: a check would fill it a second time."""
    hands_on = type(model).__module__.startswith("peft.")
    roots = [each for path, each in pairs.roots.items() if not path or hands_on]
    takes = any("use_cache" in inspect.signature(e.forward).parameters for e in roots)
    return {"use_cache": False} if takes else {}


def _of_depth(blocks: Iterable[BlockActivations]) -> Iterator[PartFault]:
    """Name the first block with what no healthy model has."""
    for row in blocks:
        if not row.largest < float("inf"):
            fix = "ftlab.debug(...) stops at the operation that does; float16 ends at "
            said = "what it has is NaN or infinity"
            yield PartFault("activations", (row.place,), said, f"{fix}65,504.")
            return


def _causal(
    within: Within, batch: Mapping[str, Any], foreign: bool
) -> Iterator[PartFault]:
    """Change the last tokens, where code is not the library's, and compare."""
    grid, before = within.grid, within.traces
    if grid is None or not len(grid.rows):
        return
    with within.tracing():
        within.model(**causality.changed(batch, grid))
    dtype = next(within.model.parameters()).dtype
    sure: PartSeverity = "warning" if foreign else "error"  # it may mean to see all
    yield from causality.leaks(before, within.traces, grid, dtype, sure)


def _together(faults: list[PartFault]) -> Iterator[PartFault]:
    """Name all places of what is wrong in the same way once, errors first."""
    places: dict[PartFault, dict[str, None]] = {}
    for each in faults:
        places.setdefault(replace(each, places=()), {}).update(
            dict.fromkeys(each.places)
        )
    order = ("error", "warning", "info")
    for fault in sorted(places, key=lambda each: order.index(each.severity)):
        yield replace(fault, places=tuple(places[fault]))
