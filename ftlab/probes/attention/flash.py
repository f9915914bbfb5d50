"""The mask that flash attention's kernels apply, from their rules.

Read in ``transformers/modeling_flash_attention_utils.py`` (4.57 and 5.23), in the order
of ``_flash_attention_forward``: a 2-D mask unpads the rows, and then position ids tell
nothing; else the four ``cu_seq_lens``/``max_length`` arguments cut the rows laid end to
end; else position ids do, for a batch of one row; else each row is one document.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.probes.attention.documents import rows_of
from ftlab.probes.attention.patterns import FromDocuments

_LENGTHS = ("cu_seq_lens_q", "cu_seq_lens_k", "max_length_q", "max_length_k")


def flash_pattern(
    given: Mapping[str, Any],
    rows: int,
    queries: int,
    *,
    mask: Any,
    causal: bool,
    window: int,
) -> tuple[FromDocuments, str]:
    """Return the mask and, in words, what it was read from.

    Parameters
    ----------
    given
        Arguments of a block.
    mask
        The 2-D mask that the block was handed, or ``None``.
    """
    padding = rows_of(mask)
    keys = queries if padding is None else padding.shape[1]
    numbers = np.zeros((rows, keys), np.int64)
    said = "flash attention's rules: no mask, each row is one document"
    if padding is not None:
        numbers = np.where(padding > 0, 0, -1)
        said = "flash attention's rules: the 2-D mask unpads each row"
    elif all(given.get(name) is not None for name in _LENGTHS):
        numbers = _cut(given["cu_seq_lens_q"], rows, queries)
        said = "flash attention's rules: cu_seq_lens cut the rows"
    elif rows == 1 and _packed(given.get("position_ids")):
        numbers = _by_positions(given["position_ids"], queries)
        said = "flash attention's rules: position ids cut the row"
    window = window if keys > window else 0
    pattern = FromDocuments(
        queries=queries,
        keys=keys,
        offset=keys - queries,
        numbers=numbers,
        places=_places(numbers),
        causal=causal,
        window=window,
    )
    return pattern, said


def _cut(starts: Any, rows: int, queries: int) -> NDArray[np.int64]:
    listed = rows_of(starts)
    begins = np.zeros(rows * queries, np.int64)
    if listed is not None:
        inside = listed[0][(listed[0] > 0) & (listed[0] < len(begins))]
        np.add.at(begins, inside, 1)
    return np.cumsum(begins).reshape(rows, queries)


def _packed(positions: Any) -> bool:
    """Decide as ``_is_packed_sequence`` does, for a batch of one row."""
    listed = rows_of(positions)
    if listed is None or listed.shape[1] < 2:
        return False
    return bool((np.arange(listed.shape[1]) + listed.min() != listed[0]).any())


def _by_positions(positions: Any, queries: int) -> NDArray[np.int64]:
    """Begin a document at each smallest position; what comes before is in none."""
    listed = rows_of(positions)
    if listed is None:
        return np.zeros((1, queries), np.int64)
    return (np.cumsum(listed[0] == listed.min()) - 1)[None]


def _places(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the place of each position within its document, padding left out."""
    places = np.zeros_like(numbers)
    for row, of in enumerate(numbers):
        for number in np.unique(of):
            at = np.flatnonzero(of == number)
            places[row, at] = np.arange(len(at))
    return places
