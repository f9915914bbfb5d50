"""Rows of tokens as a model is given them: what stands where, and what is trained."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

IGNORED = -100
"""The label that the losses of torch and transformers leave out."""

Part = Literal[
    "header", "text", "reasoning", "tool call", "end", "added", "generation prompt"
]
"""What a stretch of a turn is: the template's opening of the turn, the message's own
text, what closes the turn, a text of the template's own, or the opening of an answer
that is still to be made."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One token of a vocabulary.

    Attributes
    ----------
    piece
        As the vocabulary writes it.
    text
        What it stands for; ``""`` for a part of a character.
    special
        What it is to the tokenizer or to generation: of ``"bos"``, ``"eos"``,
        ``"pad"``, ``"unk"``, ``"stop"`` and ``"control"`` (another special token).
    """

    piece: str
    text: str
    special: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Turn:
    """A stretch of a row that belongs to one message.

    Attributes
    ----------
    start, end
        Positions in the row; ``end`` is the first one behind it.
    role
        ``"user"``, ``"assistant"``, ...; ``""`` where it cannot be told.
    message
        Number of the message within the row's conversation, from 0; -1 for a text that
        no message holds.
    part
        What the stretch is.
    """

    start: int
    end: int
    role: str
    message: int
    part: Part


@dataclass(frozen=True, slots=True, eq=False)
class TokenRow:
    """One row of a batch; each array has one value per position.

    Attributes
    ----------
    ids
        int64.
    attention, labels, positions
        int64; ``None`` where the batch has none. Labels stand at their own token: the
        model shifts them.
    weights
        float32, what each label counts in the loss; ``None`` without labels.
    segments
        int32, number of the document within a packed row, from 0; -1 for padding.
    losses
        float32, loss of the label at each position; NaN where none counts. ``None``
        before a step was run.
    turns
        In the order of their beginnings, without overlap; none without a template.
    source
        Where the row is from: ``"sample 3"``, ``"row 17 of the dataset"``.
    texts
        By position, the text of tokens that hold a part of a character: the whole
        character at the first of them, ``""`` at the others. Elsewhere the text is that
        of the piece.
    """

    ids: NDArray[np.int64]
    attention: NDArray[np.int64] | None = None
    labels: NDArray[np.int64] | None = None
    positions: NDArray[np.int64] | None = None
    weights: NDArray[np.float32] | None = None
    segments: NDArray[np.int32] | None = None
    losses: NDArray[np.float32] | None = None
    turns: tuple[Turn, ...] = ()
    source: str = ""
    texts: Mapping[int, str] = field(default_factory=dict)

    @property
    def trained(self) -> NDArray[np.bool_]:
        """Which positions hold a label that counts."""
        if self.labels is None:
            return np.zeros(len(self.ids), dtype=bool)
        counted: NDArray[np.bool_] = self.labels != IGNORED
        return counted


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """Rows that belong together, and the vocabulary that they use.

    Attributes
    ----------
    rows
        All of a batch, or of a table of texts.
    pieces
        By id, those that the rows and their labels hold.
    special
        Ids by what they are: ``"bos"``, ``"eos"``, ``"pad"``, ``"unk"``, ``"stop"``.
    remarks
        What is worth saying of all of it, in words.
    """

    rows: tuple[TokenRow, ...]
    pieces: Mapping[int, Piece]
    special: Mapping[str, frozenset[int]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TextSpan:
    """A stretch of a rendered text; `Turn` is the same in tokens.

    Attributes
    ----------
    start, end
        Characters.
    """

    start: int
    end: int
    role: str
    message: int
    part: Part


@dataclass(frozen=True, slots=True)
class Rendering:
    """A conversation as a chat template writes it.

    Attributes
    ----------
    text
        Before it is tokenised.
    spans
        In order, without overlap or gap: each character belongs to one.
    generation
        What stands between ``{% generation %}`` and ``{% endgeneration %}``, as pairs
        of characters.
    exact
        Whether the spans were proven: a second rendering with marks in every text
        differs in the marks alone.
    """

    text: str
    spans: tuple[TextSpan, ...]
    generation: tuple[tuple[int, int], ...] = ()
    exact: bool = True
