"""Whether what a checkpoint computes again in backward is what forward computed.

The L2 norm and the dtype of each module's output are taken in forward and again in
backward. Most runs have no checkpoints: norms are taken only once a module was seen to
run within backward.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.graph.nested_checkpoints import NestedCheckpoints
from ftlab.probes.probe import Moment, Reading
from ftlab.probes.torch_private import has_values
from ftlab.records.step import Block

TOLERANCE = 1e-3
"""Relative difference of two norms up to which they count as equal.

Kernels that add in another order each time differ by some 1e-6 in float32 and by up to
4e-3 of single elements in bf16, which in a norm over many cancels to below 1e-4. A mask
that is drawn again differs by 1e-2 and more.
"""

_Dtypes = tuple[dict[str, None], dict[str, None]]
"""Dtypes of a module's outputs in forward, and again."""


class Recomputed:
    """Keeps norms of outputs, forward and again, and compares them.

    Attributes
    ----------
    count
        Calls of modules within backward at the step under way.
    """

    def __init__(self) -> None:
        self.count = 0
        self._on = False
        self._forward: dict[str, list[torch.Tensor]] = {}
        self._again: dict[str, list[torch.Tensor]] = {}
        self._dtypes: dict[str, _Dtypes] = {}
        self._nested = NestedCheckpoints()

    def begin(self) -> None:
        """Begin a step."""
        self._on = self._on or self.count > 0
        self.count = 0
        self._forward, self._again, self._dtypes = {}, {}, {}
        self._nested.begin()

    def see(self, path: str, output: Any, *, again: bool) -> None:
        """Take the norm of an output; ``again``: within backward."""
        self.count += again
        self._nested.see(path, again=again)
        if not self._on:
            return
        tensor = _first(output)
        if tensor is not None:
            norm = torch.linalg.vector_norm(tensor.detach(), dtype=torch.float32)
            kept = self._again if again else self._forward
            kept.setdefault(path, []).append(norm)
            both = self._dtypes.setdefault(path, ({}, {}))
            both[again][str(tensor.dtype).removeprefix("torch.")] = None

    def readings(self, moment: Moment) -> Iterator[Reading]:
        """Compare, once the values have arrived on the host."""
        yield from self._nested.readings(moment)
        paths = [path for path in self._forward if path in self._again]
        if not paths:
            return
        sizes = [(len(self._forward[p]), len(self._again[p])) for p in paths]
        norms = [n for p in paths for n in (*self._forward[p], *self._again[p])]
        device = norms[0].device
        values = torch.stack([norm.to(device) for norm in norms])
        cast = {path: meta for path in paths if (meta := _cast(self._dtypes[path]))}
        names = [
            moment.name("recomputed", p or "model", "module", cast.get(p, {}))
            for p in paths
        ]
        ids, step = dict(zip(paths, names, strict=True)), moment.step

        def finish(values: NDArray[np.float32]) -> Iterable[Block]:
            wide = dict(_differing(paths, sizes, values))
            found = [path for path in paths if path in wide or path in cast]
            if found:
                rows = [ids[path] for path in found]
                order = np.argsort(rows)
                columns = {
                    "difference": [wide.get(path, 0.0) for path in found],
                    "other_dtype": [float(path in cast) for path in found],
                }
                yield Block(
                    "recomputed",
                    step,
                    np.array(rows, np.int32)[order],
                    {n: np.array(v, np.float32)[order] for n, v in columns.items()},
                )

        self._forward, self._again = {}, {}
        yield Reading(values, finish)


def _cast(dtypes: _Dtypes) -> dict[str, str]:
    """Describe an output that has a dtype in backward that it never had in forward."""
    first, again = dtypes
    other = [name for name in again if name not in first]
    return {"dtype": next(iter(first)), "again": other[0]} if other else {}


def _differing(
    paths: list[str], sizes: list[tuple[int, int]], values: NDArray[np.float32]
) -> Iterator[tuple[str, float]]:
    """Give modules whose second output is none of their first ones."""
    place = 0
    for path, (first, second) in zip(paths, sizes, strict=True):
        before = values[place : place + first].astype(np.float64)
        after = values[place + first : place + first + second].astype(np.float64)
        place += first + second
        apart = np.abs(after[:, None] - before[None, :]).min(1)
        largest = np.maximum(np.abs(after), 1e-30)
        wide = float((apart / largest).max())
        if wide > TOLERANCE:
            yield path, wide


def _first(output: Any) -> torch.Tensor | None:
    if isinstance(output, torch.Tensor):
        usable = output.is_floating_point() and output.numel() and has_values(output)
        return output if usable else None
    if isinstance(output, tuple | list):
        found = (_first(each) for each in output)
        return next((each for each in found if each is not None), None)
    return None
