"""Looks for ids that were held in a type too narrow for the vocabulary."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.records.id_facts import IdFacts, Residue
from ftlab.records.sample_facts import SampleFacts

BYTE, PAIR = 1 << 8, 1 << 16
"""Ids that one byte and two bytes hold."""

BITS = (8, 11)
"""Significant bits of bfloat16 and of float16 (IEEE 754)."""

OUTER = 3
"""Tokens at both ends of a sample among which its first and its last token stand."""

BROKEN = "\ufffd"

Ids = NDArray[np.int64]
Sample = tuple[SampleFacts, Ids]


def id_facts(
    samples: Sequence[Sample], special: Mapping[str, frozenset[int]], tokenizer: Any
) -> IdFacts | None:
    """Tell what the ids have in common; ``None`` for no samples."""
    held = [ids for _, ids in samples if len(ids)]
    if not held:
        return None
    together = np.concatenate(held)
    ids, size = np.unique(together), _size(tokenizer)
    beyond = {bits: ids[ids > 1 << bits] for bits in BITS}
    kept = {bits: _exact(some, bits) for bits, some in beyond.items()}
    bytes_only = bool(ids[-1] < BYTE) and size >= 2 * BYTE
    residues = _residues(held, special) if size > PAIR > ids[-1] else ()
    return IdFacts(
        size=size,
        tokens=len(together),
        largest=int(ids[-1]),
        beyond={bits: len(some) for bits, some in beyond.items()},
        kept={bits: int(some.sum()) for bits, some in kept.items()},
        broken=sum(_broken(each, tokenizer) for each in held) if bytes_only else 0,
        residues=residues,
        place=_place(samples, residues),
    )


def _size(tokenizer: Any) -> int:
    try:
        return len(getattr(tokenizer, "tokenizer", tokenizer))
    except TypeError:
        return 0


def _exact(ids: Ids, bits: int) -> NDArray[np.bool_]:
    """Tell which ids a float of so many significant bits holds as they are."""
    spacing = 1 << np.maximum(0, np.floor(np.log2(ids)).astype(np.int64) - bits + 1)
    return np.asarray(ids % spacing == 0)


def _broken(ids: Ids, tokenizer: Any) -> int:
    """Count what no character came of; a text that was cut breaks one at each end."""
    inner = getattr(tokenizer, "tokenizer", tokenizer)
    try:
        text = str(inner.decode(ids.tolist(), skip_special_tokens=True))
    except Exception:  # noqa: BLE001  any tokenizer, with any ids
        return 0
    return text.strip(BROKEN).count(BROKEN)


def _residues(
    held: Iterable[Ids], special: Mapping[str, frozenset[int]]
) -> tuple[Residue, ...]:
    marks = special.get("stop", frozenset()) | special.get("bos", frozenset())
    wide = sorted(each for each in marks if each >= PAIR)
    outer = [np.concatenate([ids[:OUTER], ids[-OUTER:]]) for ids in held]
    found = (
        Residue(each, each % PAIR, sum(each % PAIR in ids for ids in outer))
        for each in wide
    )
    return tuple(each for each in found if each.samples)


def _place(
    samples: Sequence[Sample], residues: Sequence[Residue]
) -> tuple[int, int, int]:
    left = {each.left for each in residues}
    for sample, ids in samples:
        for position in np.flatnonzero(np.isin(ids, list(left)))[-1:]:
            return sample.micro_batch, sample.row, sample.start + int(position)
    first = samples[0][0]
    return first.micro_batch, first.row, first.start
