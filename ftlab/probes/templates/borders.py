"""Where one turn ends and the next begins, found by comparing renderings."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from ftlab.probes.templates.marks import TAG


class Controls:
    """What must not be cut: tags, and the control strings of a vocabulary.

    Examples
    --------
    >>> from ftlab.probes.templates.borders import Controls
    >>> Controls(["@@end"]).safe("@@end<|user|>", 7)
    5
    """

    def __init__(self, strings: Iterable[str] = ()) -> None:
        words = sorted({each for each in strings if each.strip()}, key=len)[::-1]
        self._pattern = re.compile("|".join([*map(re.escape, words), TAG.pattern]))

    @property
    def key(self) -> str:
        """What tells these controls from others."""
        return self._pattern.pattern

    def safe(self, text: str, place: int, *, forward: bool = False) -> int:
        """Return the nearest place up to, or from, this one that is inside none."""
        for match in self._pattern.finditer(text):
            if match.start() < place < match.end():
                return match.end() if forward else match.start()
        return place

    def inside(self, text: str) -> list[str]:
        """Return the control strings of a text, in order."""
        return [match.group() for match in self._pattern.finditer(text)]

    def rest(self, text: str) -> str:
        """Return what a text says beside them."""
        return self._pattern.sub("", text).strip()

    def leading(self, text: str) -> list[str]:
        """Return the control strings that a text begins with."""
        found, place = [], 0
        while match := self._pattern.match(text, place):
            found.append(match.group())
            place = match.end()
        return found

    def last(self, text: str) -> int:
        """Return where the last of them begins, or the text ends."""
        places = [match.start() for match in self._pattern.finditer(text)]
        return places[-1] if places else len(text)


def border(
    gap: str,
    tail: str | None,
    opening: str | None,
    controls: Controls,
    first: str = "",
) -> int:
    r"""Return where the end of one turn stops and the opening of the next one begins.

    Parameters
    ----------
    gap
        What stands between the texts of two messages.
    tail
        What stands behind the first text where the conversation stops there.
    opening
        What stands before the second one's text elsewhere, with something before it.
    first
        What stands before the first text of a conversation.

    Notes
    -----
    Where a conversation stops in another way than it goes on, a turn is taken to open
    with the first of the control strings that begin ``opening`` and stand in the gap;
    where it stops with nothing, with the first of those that begin ``first``.

    Examples
    --------
    >>> from ftlab.probes.templates.borders import Controls, border
    >>> gap = "<|im_end|>\n<|im_start|>user\n"
    >>> border(gap, "<|im_end|>\n", "<|im_start|>user\n", Controls())
    11
    >>> border(gap, "<|im_end|>", "<|im_start|>user\n", Controls())
    11
    >>> border("</s>[INST] ", "</s>", "<s>[INST] ", Controls())
    4
    >>> border("<|end|>\n<|user|>\n", "<|end|>\n<|stop|>", "<|user|>\n", Controls())
    8
    >>> marks = Controls(["<|im_start|>", "<|im_end|>"])
    >>> border(gap, "", None, marks, "<|im_start|>system\nx" + gap)
    11
    >>> gap = "<|end|><|start|>user<|message|>"
    >>> border(gap, "<|return|>", "<|start|>system<|message|>x" + gap, Controls())
    7
    """
    by_tail = 0 if tail is None else common(tail, gap)
    by_opening = known_opening(gap, opening, controls)
    if tail == "":
        place = _opened(gap, first, controls)
        if place > 0 and not controls.rest(gap[:place]):
            return place
    if tail is not None and by_tail == len(tail):
        between = gap[by_tail : max(by_tail, by_opening or 0)]
        # What is written only where more follows, and says nothing, ends the turn too.
        return (
            controls.safe(gap, by_tail)
            if controls.rest(between)
            else (max(by_opening or 0, by_tail))
        )
    place = _opened(gap, opening or "", controls)
    if place >= 0:
        return place
    if by_opening is not None:
        return max(by_opening, controls.safe(gap, by_tail))
    return controls.safe(gap, by_tail)


def _opened(gap: str, beginning: str, controls: Controls) -> int:
    """Return where a gap last holds what a beginning begins with; -1 for nowhere."""
    opener = next((c for c in controls.leading(beginning) if c in gap), "")
    return gap.rfind(opener) if opener else -1


def known_opening(gap: str, opening: str | None, controls: Controls) -> int | None:
    """Return where what a gap has in common with an opening begins, if it is a word."""
    if opening is None:
        return None
    place = len(gap) - _common_suffix(gap, opening)
    place = controls.safe(gap, place, forward=True)
    return place if gap[place:].strip() else None


def common(left: Sequence[Any], right: Sequence[Any]) -> int:
    """Return how many first characters, or ids, of two rows are equal."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(left), len(right)))


def _common_suffix(left: str, right: str) -> int:
    return common(left[::-1], right[::-1])
