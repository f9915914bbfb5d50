"""Source lines and words of a batch, as a stop and a recorded trace show them."""

from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


class Listing(tuple[T, ...]):
    """A tuple that is printed with one entry below the other."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(map(repr, self)) or "(nothing to show)"


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some lines of a file or of a cell, one of them marked.

    Attributes
    ----------
    role
        Whose line is marked: ``your line``, ``library``, ``forward``.
    place
        The marked line, as reports name it.
    first, marked
        Numbers of the first line that is shown and of the marked one.
    lines
        The text, without the indentation that all of it has.

    Examples
    --------
    >>> from ftlab.records.texts import Excerpt
    >>> Excerpt("your line", "<cell>:2 forward", 1, 2, ("def f(x):", "    x.log()"))
    your line: <cell>:2 forward
        1  def f(x):
      > 2      x.log()
    """

    role: str
    place: str
    first: int
    marked: int
    lines: tuple[str, ...]

    def __repr__(self) -> str:
        width = len(str(self.first + len(self.lines)))
        rows = [f"{self.role}: {self.place}"]
        for number, text in enumerate(self.lines, self.first):
            mark = ">" if number == self.marked else " "
            rows.append(f"  {mark} {number:>{width}}  {text}".rstrip())
        return "\n".join(rows)


@dataclass(frozen=True, slots=True)
class SampleText:
    """A part of one sample.

    Attributes
    ----------
    sample
        Row of the batch.
    start, length
        Position of the first token that is shown, and tokens of the whole sample.
    pieces
        The tokens' texts; their ids where no tokenizer is known.
    marked
        For each of them whether a bad value belongs to it.

    Examples
    --------
    >>> from ftlab.records.texts import SampleText
    >>> SampleText(0, 8, 12, ("the", "year"), (False, True))
    sample 0: ...'the' >'year'< ...
    """

    sample: int
    start: int
    length: int
    pieces: tuple[str, ...]
    marked: tuple[bool, ...]

    def __repr__(self) -> str:
        parts = [
            f">{text!r}<" if bad else repr(text)
            for text, bad in zip(self.pieces, self.marked, strict=True)
        ]
        left = "..." if self.start else ""
        right = " ..." if self.start + len(self.pieces) < self.length else ""
        return f"sample {self.sample}: {left}{' '.join(parts)}{right}"
