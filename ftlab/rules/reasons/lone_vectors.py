"""Vectors whose gradient is small by itself, without the matrix that they stand beside.

The gradients of a layer's matrix and of its bias come from one and the same gradient of
the layer's output. Where that one is small both are. A bias alone is small where what
comes next does not see a constant: a batch norm takes the mean out again, and a softmax
over keys, if nothing turns them by their position.
"""

from collections.abc import Sequence

import numpy as np

from ftlab.records.names import NameRecord
from ftlab.rules.reading.tensors import Bools, text_of

_WITHIN = (".base_layer", ".parametrizations")
"""Modules that hold a weight for the layer around them."""


def without_lone_vectors(low: Bools, names: Sequence[NameRecord]) -> Bools:
    """Take out vectors at steps at which no matrix of the same layer is marked.

    Parameters
    ----------
    low
        What is marked, by steps and tensors.
    names
        The tensors.
    """
    if not low.any():
        return low
    matrices: dict[str, list[int]] = {}
    for column, name in enumerate(names):
        if not _is_vector(name):
            matrices.setdefault(_layer_of(name), []).append(column)
    kept = low.copy()
    for column, name in enumerate(names):
        if _is_vector(name):
            beside = matrices.get(_layer_of(name), [])
            kept[:, column] &= low[:, beside].any(axis=1)
    return kept


def _is_vector(name: NameRecord) -> bool:
    """Tell whether only one side of a tensor is longer than 1: also IA3's scales."""
    return int(np.sum(np.array(name.shape) > 1)) <= 1


def _layer_of(name: NameRecord) -> str:
    """Return the path of the layer that a tensor is a weight or an adapter of."""
    path = text_of(name, "module") or name.name.rpartition(".")[0]
    for within in _WITHIN:
        path = path.partition(f"{within}.")[0].removesuffix(within)
    return path
