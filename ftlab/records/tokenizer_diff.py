"""How two tokenizers treat the same texts, and what in them is not the same."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ftlab.records.fingerprint import Change, Fingerprint


@dataclass(frozen=True, slots=True)
class Token:
    """A token at a place of a text.

    Attributes
    ----------
    number
        Its id, ``None`` behind the last token.
    piece
        As its vocabulary writes it.
    start, end
        The characters of the text that it stands for.
    """

    number: int | None
    piece: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TextDifference:
    """Where two tokenizers first differ in one text.

    Attributes
    ----------
    text
        Number of the text, from 0.
    position
        Number of the token, from 0, without those that are put around a text.
    character
        Where in the text, from 0.
    left, right
        The two tokens.
    near
        The text about the place.
    same_pieces
        Whether the whole text is cut into the same pieces, under other ids.
    """

    text: int
    position: int
    character: int
    left: Token
    right: Token
    near: str
    same_pieces: bool = False


@dataclass(frozen=True, slots=True)
class Side:
    """What one tokenizer makes of all texts.

    Attributes
    ----------
    name
        How messages call it.
    tokens, unknown
        Tokens of all texts, and those of them that are the unknown token.
    characters, covered
        Characters that are no white space, and those of them that a known token stands
        for.
    words, whole
        Words, parted by white space, and those of them that are one token.
    restored
        Texts that come back as they were when their ids are decoded.
    before, behind
        Pieces that are put around a text.
    """

    name: str
    tokens: int = 0
    unknown: int = 0
    characters: int = 0
    covered: int = 0
    words: int = 0
    whole: int = 0
    restored: int = 0
    before: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Moved:
    """Ids that stand for another piece on either side.

    Attributes
    ----------
    count
        How many there are.
    first
        The first of them: id, piece on the left, piece on the right.
    left_only, right_only
        How many ids only one side has.
    """

    count: int = 0
    first: tuple[tuple[int, str, str], ...] = ()
    left_only: int = 0
    right_only: int = 0


@dataclass(frozen=True, slots=True)
class TokenizerDiff:
    """Two tokenizers beside each other.

    Attributes
    ----------
    left, right
        What each makes of the texts.
    prints
        Their fingerprints.
    texts, equal
        How many texts there are, and how many have the same ids on both sides.
    differences
        The first difference of each of the others.
    moved
        Ids that stand for another piece; ``None`` where a side is a kept fingerprint,
        which has no vocabulary.
    shifted
        Tokens that are special on both sides, under other ids: id on either side.
    unchecked
        What could not be compared, and what would let it be.
    trained
        Fingerprints of what either side was trained with, where a watch has kept them
        beside a checkpoint.

    Examples
    --------
    >>> from ftlab.records.fingerprint import Fingerprint
    >>> from ftlab.records.tokenizer_diff import Side, TokenizerDiff
    >>> prints = Fingerprint("Own", "python", {}), Fingerprint("Own", "python", {})
    >>> TokenizerDiff(Side("old"), Side("new"), prints).same
    True
    """

    left: Side
    right: Side
    prints: tuple[Fingerprint, Fingerprint]
    texts: int = 0
    equal: int = 0
    differences: tuple[TextDifference, ...] = ()
    moved: Moved | None = None
    shifted: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    unchecked: tuple[str, ...] = ()
    trained: tuple[Fingerprint | None, Fingerprint | None] = (None, None)

    @property
    def same(self) -> bool:
        """Whether all parts and all ids are the same."""
        one, two = self.prints
        return one.digest == two.digest and self.equal == self.texts

    @property
    def changes(self) -> tuple[Change, ...]:
        """What differs in the parts, entry by entry."""
        one, two = self.prints
        return one.changes(two)
