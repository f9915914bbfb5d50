"""What the token view shows: one cell per token, from tensors, arrays or lists."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ftlab.records.errors import BadValueError

IGNORED = -100
"""The label that the loss leaves out."""
VISIBLE = {" ": "·", "\n": "↵", "\t": "→", "\r": "␍"}


@dataclass(frozen=True, slots=True)
class Cell:
    """One token of a sample.

    Attributes
    ----------
    token, text
        The tokenizer's piece, and its text with visible white space.
    attention, label
        ``None`` where the batch has none.
    trained
        Whether the loss counts the label at this position.
    learns
        What this position is trained to say next: the piece at ``t + 1`` if that is
        trained, else ``""``.
    special
        Which of ``bos``, ``eos``, ``pad`` this id is; several where they share an id.
    """

    id: int
    token: str
    text: str
    attention: int | None
    label: int | None
    trained: bool
    learns: str
    special: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sample:
    """One row of a batch.

    Attributes
    ----------
    padding, padding_side
        Positions with attention 0 (or, without a mask, the pad token at the ends), and
        ``left``, ``right``, ``on both sides`` or ``inside``.
    trained
        Positions whose label counts; ``None`` without labels per token.
    eos_trained
        Whether the last EOS within attention has a label; ``None`` when there is none.
    segments
        Sequences packed into the sample, by its position ids.
    known
        Which special tokens the tokenizer has.
    """

    cells: tuple[Cell, ...]
    padding: int
    padding_side: str
    trained: int | None
    eos_trained: bool | None
    segments: int
    known: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    def positions(self, name: str) -> list[int] | None:
        """Return where ``bos``, ``eos`` or ``pad`` stands; ``None`` if unknown."""
        if name not in self.known:
            return None
        return [
            at
            for at, cell in enumerate(self.cells)
            if name in cell.special and cell.attention != 0
        ]


@dataclass(frozen=True, slots=True)
class TokenSummary:
    """All samples of a batch."""

    samples: tuple[Sample, ...]


def visible(text: str) -> str:
    """Write white space and control characters so that they can be seen.

    Examples
    --------
    >>> from ftlab.views.tokens_summary import visible
    >>> visible(" a" + chr(10))
    '·a↵'
    """
    return "".join(VISIBLE.get(one) or _shown(one) for one in text)


def _shown(one: str) -> str:
    # Cf holds zero-width and direction marks, which hide or turn what follows them
    hidden = unicodedata.category(one) in ("Cc", "Cf", "Co", "Cs", "Zl", "Zp", "Zs")
    return one.encode("unicode_escape").decode("ascii") if hidden else one


def summarise_batch(batch: Mapping[str, Any], tokenizer: Any) -> TokenSummary:
    """Read ``batch``; nothing of it is kept."""
    if "input_ids" not in batch:
        held = ", ".join(sorted(map(str, batch))) or "nothing"
        msg = (
            f"The batch has no input_ids; it holds {held}. Pass what the data loader "
            "yields: ftlab.tokens(batch=next(iter(loader)))."
        )
        raise BadValueError(msg)
    ids = _rows(batch["input_ids"], "input_ids")
    masks = _per_token(batch.get("attention_mask"), ids)
    labels = _per_token(batch.get("labels"), ids)
    places = _per_token(batch.get("position_ids"), ids)
    pieces = _Pieces(getattr(tokenizer, "tokenizer", tokenizer))
    remarks = _remarks(batch, masks, labels)
    samples = [
        _sample(pieces, (row, mask, label, place), remarks)
        for row, mask, label, place in zip(ids, masks, labels, places, strict=True)
    ]
    return TokenSummary(tuple(samples))


def _listed(value: Any) -> Any:
    """Return nested lists of what may be a tensor, an array or lists of them."""
    convert = getattr(value, "tolist", None)
    if callable(convert):
        return convert()
    if isinstance(value, list | tuple):
        return [_listed(one) for one in value]
    return value


def _rows(value: Any, name: str) -> list[list[int]]:
    listed = _listed(value)
    if isinstance(listed, list) and listed and not isinstance(listed[0], list):
        listed = [listed]
    if not isinstance(listed, list) or any(
        not isinstance(one, int) for row in listed for one in row
    ):
        shape = tuple(getattr(value, "shape", ())) or type(value).__name__
        msg = (
            f"{name} is {shape}; it must hold token ids in rows: shape (samples, "
            "length), or one list of ids per sample."
        )
        raise BadValueError(msg)
    return listed


def _per_token(value: Any, ids: list[list[int]]) -> list[list[Any] | None]:
    """Return one row per sample, ``None`` where the shape is not that of the ids."""
    rows = _listed(value) if value is not None else None
    if isinstance(rows, list) and rows and not isinstance(rows[0], list):
        rows = [rows]
    if not isinstance(rows, list) or len(rows) != len(ids):
        return [None] * len(ids)
    return [
        row if _fits(row, tokens) else None
        for row, tokens in zip(rows, ids, strict=True)
    ]


def _fits(row: Any, tokens: list[int]) -> bool:
    flat = isinstance(row, list) and not any(isinstance(one, list) for one in row)
    return flat and len(row) == len(tokens)


def _remarks(
    batch: Mapping[str, Any], masks: list[Any], labels: list[Any]
) -> tuple[str, ...]:
    found = []
    for name, rows in (("attention_mask", masks), ("labels", labels)):
        if batch.get(name) is None:
            found += [f"{name} not in the batch"] if name == "attention_mask" else []
        elif any(row is None for row in rows):
            shape = tuple(getattr(batch[name], "shape", ()))
            words = f" of shape {shape}" if shape else ""
            found.append(f"{name}{words} does not go by token")
    return tuple(found)


class _Pieces:
    """Pieces and special ids of a tokenizer, each looked up once."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._seen: dict[int, tuple[str, str]] = {}
        names = ("bos", "eos", "pad")
        found = {name: getattr(tokenizer, f"{name}_token_id", None) for name in names}
        self._special = {
            name: frozenset(value if isinstance(value, list) else [value])
            for name, value in found.items()
            if value is not None
        }
        self.known = tuple(self._special)

    def special(self, token: int) -> tuple[str, ...]:
        return tuple(name for name, ids in self._special.items() if token in ids)

    def of(self, token: int) -> tuple[str, str]:
        if token not in self._seen:
            self._seen[token] = self._look_up(token)
        return self._seen[token]

    def _look_up(self, token: int) -> tuple[str, str]:
        if self._tokenizer is None:
            return str(token), str(token)
        try:
            piece = str(self._tokenizer.convert_ids_to_tokens([token])[0])
            text = str(self._tokenizer.decode([token]))
        except Exception:  # noqa: BLE001  an id that the tokenizer lacks is worth showing
            return "?", f"? id {token} is not in the tokenizer"
        # a part of a character cannot be decoded alone; its piece says more
        return visible(piece), visible(piece if "\ufffd" in text else text)


def _sample(
    pieces: _Pieces,
    rows: tuple[list[int], list[Any] | None, list[Any] | None, list[Any] | None],
    remarks: tuple[str, ...],
) -> Sample:
    ids, mask, labels, places = rows
    trained = [label is not None and int(label) != IGNORED for label in labels or ids]
    trained = trained if labels is not None else [False] * len(ids)
    cells = []
    for at, token in enumerate(ids):
        follows = at + 1 < len(ids) and trained[at + 1]
        learns = pieces.of(int((labels or ids)[at + 1]))[1] if follows else ""
        attention = None if mask is None else int(bool(mask[at]))
        label = None if labels is None else int(labels[at])
        words = pieces.of(token)
        special = pieces.special(token)
        cells.append(
            Cell(token, *words, attention, label, trained[at], learns, special)
        )
    padding = _padding(cells)
    return Sample(
        tuple(cells),
        len(padding),
        _side(padding, len(cells)),
        None if labels is None else sum(trained),
        _eos_trained(cells, labels is not None),
        _segments(places, padding),
        pieces.known,
        remarks,
    )


def _padding(cells: list[Cell]) -> list[int]:
    if all(cell.attention is not None for cell in cells):
        return [at for at, cell in enumerate(cells) if cell.attention == 0]
    pads = ["pad" in cell.special and "eos" not in cell.special for cell in cells]
    first = next((at for at, pad in enumerate(pads) if not pad), len(pads))
    last = next((at for at in range(len(pads), first, -1) if not pads[at - 1]), first)
    return [*range(first), *range(last, len(pads))]


def _side(padding: list[int], length: int) -> str:
    if not padding:
        return ""
    inner = sorted(set(range(length)) - set(padding))
    if not inner:
        return "everywhere"
    before, after = padding[0] < inner[0], padding[-1] > inner[-1]
    if any(inner[0] < at < inner[-1] for at in padding):
        return "inside"
    return "on both sides" if before and after else "left" if before else "right"


def _eos_trained(cells: list[Cell], labelled: bool) -> bool | None:
    if not labelled:
        return None
    ends = [cell for cell in cells if "eos" in cell.special and cell.attention != 0]
    return ends[-1].trained if ends else None


def _segments(places: Iterable[Any] | None, padding: list[int]) -> int:
    """Count the sequences that begin anew at position 0."""
    if places is None:
        return 1
    hidden = set(padding)
    starts = [at for at, place in enumerate(places) if place == 0 and at not in hidden]
    return max(1, len(starts))
