"""Which documents the rows of a batch hold, as far as the batch itself tells."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.records.attention import PADDING, Documents

STARTS = ("cu_seq_lens_q", "cu_seq_lens", "cu_seqlens", "cu_seqlens_q")
"""Names under which collators hand over where documents begin."""

_USUAL = frozenset(
    ("input_ids", "labels", "attention_mask", "position_ids", "token_type_ids")
)
"""Arguments that say nothing of documents, or say it in a way that is read."""

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Marks:
    """Ids that begin, end and pad a text.

    Attributes
    ----------
    repeated, turned
        Whether a chat template may write the BOS, or the EOS, more than once: it may
        then begin, or end, a turn of one conversation.
    """

    bos: frozenset[int] = frozenset()
    eos: frozenset[int] = frozenset()
    pad: frozenset[int] = frozenset()
    repeated: bool = False
    turned: bool = False


def marks_of(tokenizer: Any, config: Any = None) -> Marks:
    """Read the marks of a tokenizer or, without one, of a model's configuration."""
    source = tokenizer if tokenizer is not None else config
    bos, eos, pad = (
        frozenset(_ids(getattr(source, f"{name}_token_id", None)))
        for name in ("bos", "eos", "pad")
    )
    template = getattr(tokenizer, "chat_template", None)
    written = template if isinstance(template, str) else str(template or "")
    turns = (_writes(written, tokenizer, f"{name}_token") for name in ("bos", "eos"))
    return Marks(bos, eos, pad, *turns)


def documents_of(batch: Mapping[str, Any], marks: Marks) -> tuple[Documents, ...]:
    """Tell the documents of each row of a batch.

    Padding is what the 2-D mask hides; without one, the pad tokens at the ends.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.attention.documents import Marks, documents_of
    >>> batch = {"input_ids": torch.tensor([[5, 6, 7, 8]])}
    >>> batch["position_ids"] = torch.tensor([[0, 1, 0, 1]])
    >>> documents_of(batch, Marks())[0].numbers.tolist()
    [0, 0, 1, 1]
    """
    ids = rows_of(batch.get("input_ids"))
    if ids is None:
        ids = np.zeros(_shape(batch.get("inputs_embeds")), np.int64)
    mask = _same(_attended(batch.get("attention_mask")), ids)
    positions = _same(batch.get("position_ids"), ids)
    labels = _same(batch.get("labels"), ids)
    numbered = _same(batch.get("seq_idx"), ids)
    starts = next((batch[name] for name in STARTS if batch.get(name) is not None), None)
    told = _by_starts(starts, ids)
    rows = []
    for row, tokens in enumerate(ids):
        hidden = _padding(
            tokens,
            None if mask is None else mask[row],
            None if labels is None else labels[row],
            marks,
        )
        real = ~hidden
        if told is not None:
            rows.append(_numbered(real, told[row], "cu_seq_lens"))
        elif numbered is not None:
            rows.append(_numbered(real, _changes(numbered[row]), "seq_idx"))
        elif positions is not None and _resets(positions[row], real).any():
            rows.append(_numbered(real, _resets(positions[row], real), "position ids"))
        else:
            rows.append(_by_tokens(tokens, real, marks))
    return tuple(rows)


def keeping_apart(batch: Mapping[str, Any]) -> list[str]:
    """Name the arguments that may keep documents apart, beside position ids.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.attention.documents import keeping_apart
    >>> ids = torch.ones(1, 4, dtype=torch.long)
    >>> keeping_apart({"input_ids": ids, "labels": ids, "document_ids": ids})
    ['document_ids']
    """
    width = tuple(getattr(batch.get("input_ids"), "shape", ()))[-1:]
    found = []
    for name, value in batch.items():
        shape = tuple(getattr(value, "shape", ()))
        own = name not in _USUAL and len(shape) > 1 and shape[-1:] == width
        mask = name == "attention_mask" and (len(shape) > 2 or isinstance(value, dict))
        if own or mask or (name in STARTS and value is not None):
            found.append(name)
    return found


def rows_of(value: Any) -> Rows | None:
    """Return integers in rows, of tensors, arrays or lists; ``None`` if it is none."""
    if value is None:
        return None
    detach = getattr(value, "detach", None)
    array = np.asarray(detach().cpu() if detach is not None else value)
    if array.ndim == 1 and array.dtype != object:
        array = array[None]
    whole = array.ndim == 2 and array.dtype.kind in "iub"
    return array.astype(np.int64) if whole else None


def _by_tokens(tokens: Rows, real: NDArray[np.bool_], marks: Marks) -> Documents:
    """Tell documents from a BOS or an EOS in the middle."""
    said = real & ~np.isin(tokens, list(marks.bos | marks.eos | marks.pad))
    begins = np.isin(tokens, list(marks.bos - marks.pad - marks.eos)) & real
    begins = _with_text(begins, said)
    if begins.any():
        return _numbered(real, begins, "BOS", sure=not marks.repeated)
    ended = np.concatenate(([False], np.isin(tokens, list(marks.eos))[:-1]))
    # an EOS at the beginning ends nothing: models may begin texts with theirs
    begins = _with_text(ended & real, said) if not marks.turned else ended & False
    return _numbered(real, begins, "EOS" if begins.any() else "", sure=False)


def _with_text(begins: NDArray[np.bool_], said: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Keep the beginnings of documents that say something, behind one that does."""
    found = np.zeros_like(begins)
    last = 0
    for place in np.flatnonzero(begins).tolist():
        if said[last:place].any() and said[place:].any():
            found[place] = True
            last = place
    return found


def _numbered(
    real: NDArray[np.bool_], begins: NDArray[np.bool_], by: str, *, sure: bool = True
) -> Documents:
    """Give each document its number, from where they begin."""
    numbers = np.cumsum(begins).astype(np.int32)
    if real.any():
        numbers -= numbers[real][0]
    numbers[~real] = PADDING
    several = len(np.unique(numbers[real])) > 1
    return Documents(numbers, by if several else "", sure or not several)


def _resets(positions: Rows, real: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tell where positions do not grow, among real tokens that follow each other."""
    begins = np.zeros(len(positions), dtype=bool)
    begins[1:] = (positions[1:] <= positions[:-1]) & real[1:] & real[:-1]
    return begins


def _changes(numbers: Rows) -> NDArray[np.bool_]:
    return np.concatenate(([False], numbers[1:] != numbers[:-1]))


def _by_starts(starts: Any, ids: Rows) -> NDArray[np.bool_] | None:
    """Mark the beginnings that cumulated lengths tell, in rows laid end to end."""
    listed = rows_of(starts)
    if listed is None:
        return None
    begins = np.zeros(ids.size, dtype=bool)
    inside = listed[0][(listed[0] > 0) & (listed[0] < ids.size)]
    begins[inside] = True
    return begins.reshape(ids.shape)


def _padding(
    tokens: Rows, mask: Rows | None, labels: Rows | None, marks: Marks
) -> NDArray[np.bool_]:
    """Tell what is padding: what the mask hides, and runs of pad tokens at the ends.

    A pad token that also begins or ends texts is what the mask says; without one it is
    left one place, next to the text. What is trained is no padding.
    """
    hidden = np.zeros(len(tokens), dtype=bool) if mask is None else mask == 0
    pads = np.isin(tokens, list(marks.pad)) | hidden
    if labels is not None:
        pads &= (labels < 0) | hidden
    shared = mask is not None and bool(marks.pad & (marks.bos | marks.eos))
    if pads.all() or shared:  # a mask over what may be text is the word of somebody
        return hidden
    first, last = int(np.argmin(pads)), len(pads) - int(np.argmin(pads[::-1]))
    if not hidden.any():
        first = max(0, first - bool(marks.pad & marks.bos))
        last = min(len(pads), last + bool(marks.pad & marks.eos))
    edges = np.ones(len(tokens), dtype=bool)
    edges[first:last] = False
    return hidden | (edges & pads)


def _ids(value: Any) -> Sequence[int]:
    if isinstance(value, int):
        return [value]
    return [each for each in value or () if isinstance(each, int)]


def _writes(template: str, tokenizer: Any, name: str) -> bool:
    """Tell whether a template writes a special token for some of the messages."""
    text = getattr(tokenizer, name, None)
    found = re.search(r"\bfor\b.*\bendfor\b", template, re.DOTALL)
    if found is None or not isinstance(text, str) or not text:
        return False
    return text in found.group() or name in found.group()


def _attended(mask: Any) -> Any:
    """Take a mask of floats as masks of transformers do: what is not 0 is attended."""
    kind = str(getattr(mask, "dtype", ""))
    return mask != 0 if "float" in kind and getattr(mask, "ndim", 0) == 2 else mask


def _same(value: Any, ids: Rows) -> Rows | None:
    rows = rows_of(value)
    if rows is None or rows.shape[-1] != ids.shape[-1]:
        return None
    return np.broadcast_to(rows, ids.shape) if len(rows) in (1, len(ids)) else None


def _shape(value: Any) -> tuple[int, ...]:
    return tuple(getattr(value, "shape", (0, 0)))[:2]
