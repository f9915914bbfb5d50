"""What a vocabulary calls ids that are named in facts."""

from collections.abc import Sequence
from typing import Any


def piece_names(tokenizer: Any, ids: Sequence[int]) -> dict[int, str]:
    """Return the pieces by id, of those that a tokenizer names.

    Facts hold the ids anyway, so that a tokenizer of one's own, which may raise
    whatever it likes, costs nothing but the names.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from ftlab.probes.tokens.piece_names import piece_names
    >>> own = SimpleNamespace(convert_ids_to_tokens=lambda ids: [f"t{i}" for i in ids])
    >>> piece_names(own, [3, 5]), piece_names(None, [3])
    ({3: 't3', 5: 't5'}, {})
    """
    inner = getattr(tokenizer, "tokenizer", tokenizer)
    try:
        named = zip(ids, inner.convert_ids_to_tokens(ids), strict=True)
        return {number: str(piece) for number, piece in named if piece is not None}
    except Exception:  # noqa: BLE001  the one place where any tokenizer is asked
        return {}
