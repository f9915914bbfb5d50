"""Gradients that are exactly 0 because a factor beside them is: no fault of theirs."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ftlab.records.names import NameRecord
from ftlab.rules.reading.tensors import text_of
from ftlab.runlog.matrix import Matrix
from ftlab.runlog.run import Run

PARTNERS = {
    "lora_A": "lora_B",
    "lora_B": "lora_A",
    "lora_embedding_A": "lora_embedding_B",
    "lora_embedding_B": "lora_embedding_A",
}

Bools = NDArray[np.bool_]


def zero_beside_zero(run: Run, names: Sequence[NameRecord], zero: Bools) -> Bools:
    """Mark halves of LoRA pairs whose partner is 0, or is not known to be more."""
    excused = np.zeros(len(names), bool)
    if not zero.any():
        return excused
    weight = run.matrix("weight_l2").measured()
    latest = dict(zip(weight.ids.tolist(), _latest(weight), strict=True))
    sizes = {_pair_key(name): latest.get(name.id, 0.0) for name in names}
    for column in np.flatnonzero(zero).tolist():
        role = text_of(names[column], "role")
        if role in PARTNERS:
            module, adapter, _ = _pair_key(names[column])
            excused[column] = not sizes.get((module, adapter, PARTNERS[role]), 0.0) > 0
        else:
            excused[column] = _beside_zero(names[column], names, latest)
    return excused


def _beside_zero(
    name: NameRecord, names: Sequence[NameRecord], latest: Mapping[int, float]
) -> bool:
    """Tell whether another matrix of the same module is exactly 0: a factor."""
    module = name.name.rpartition(".")[0]
    return len(name.shape) > 1 and any(
        latest.get(each.id) == 0.0
        for each in names
        if each.id != name.id
        and len(each.shape) > 1
        and each.name.rpartition(".")[0] == module
    )


def _latest(weight: Matrix) -> list[float]:
    """Return each norm as it was measured last, 0 where it never was."""
    known = weight.known[::-1]
    if not len(known):
        return [0.0] * known.shape[1]
    found = weight.values[::-1][known.argmax(axis=0), np.arange(known.shape[1])]
    return [float(each) for each in np.where(known.any(axis=0), found, 0.0)]


def _pair_key(name: NameRecord) -> tuple[str, str, str]:
    return text_of(name, "module"), text_of(name, "adapter"), text_of(name, "role")
