"""Two tokenizers beside each other, in words and counts."""

from collections.abc import Iterator

from ftlab.records.fingerprint import Change
from ftlab.records.tokenizer_diff import (
    Moved,
    Side,
    TextDifference,
    Token,
    TokenizerDiff,
)
from ftlab.views.drawn import DataFrame
from ftlab.views.style import count
from ftlab.views.tokenizers.fingerprint_words import (
    change_words,
    part_words,
    trained_words,
)
from ftlab.views.tokenizers.told import Line, Told, ToldView

SHOWN = 5
"""Differences, tokens and entries of each kind that are named."""
_LITTLE = frozenset({"true", "false", "null", "{}", "[]", '""'})
"""Values, as JSON, that are named behind all others."""

_TABLE = {
    "text": "int64",
    "character": "int64",
    "position": "int64",
    "left": "object",
    "left_id": "Int64",
    "right": "object",
    "right_id": "Int64",
    "same_pieces": "bool",
    "near": "object",
}


class TokenizerDiffView(ToldView):
    """What two tokenizers make of the same texts, and what in them differs.

    ``table()`` has a row for each text whose ids differ.

    Parameters
    ----------
    diff
        What was compared.

    Examples
    --------
    >>> from ftlab.records.fingerprint import Fingerprint, part_of
    >>> from ftlab.records.tokenizer_diff import Side, TokenizerDiff
    >>> from ftlab.views.tokenizers.tokenizer_diff import TokenizerDiffView
    >>> one, two = (
    ...     Fingerprint("Own", "python", {"switches": part_of({"legacy": flag})})
    ...     for flag in (True, False)
    ... )
    >>> TokenizerDiffView(TokenizerDiff(Side("old"), Side("new"), (one, two)))
    Tokenizers: old against new: 1 part differs
    ≠ switches  legacy on against off
    """

    title = "Tokenizers"

    def __init__(self, diff: TokenizerDiff) -> None:
        super().__init__()
        self.diff = diff

    @property
    def same(self) -> bool:
        """Whether all parts and all ids are the same."""
        return self.diff.same

    def __bool__(self) -> bool:
        return not self.same

    def _summarise(self) -> Told:
        diff = self.diff
        sides = f"{diff.left.name} against {diff.right.name}"
        head = f"Tokenizers: {sides}: {_verdict(diff)}"
        lines = [*_trained(diff), *_texts(diff), *_ids(diff), *_parts(diff)]
        lines += [Line("?", "not checked", each) for each in diff.unchecked]
        return Told(head, tuple(lines or [Line("=", "parts", "all the same")]))

    def _table(self, summary: Told) -> DataFrame:
        import pandas as pd

        rows = [
            {
                "text": each.text,
                "character": each.character,
                "position": each.position,
                "left": each.left.piece,
                "left_id": each.left.number,
                "right": each.right.piece,
                "right_id": each.right.number,
                "same_pieces": each.same_pieces,
                "near": each.near,
            }
            for each in self.diff.differences
        ]
        return pd.DataFrame(rows, columns=list(_TABLE)).astype(_TABLE)


def _trained(diff: TokenizerDiff) -> Iterator[Line]:
    """Tell of a checkpoint whose files are not what it was trained with."""
    sides = zip((diff.left, diff.right), diff.prints, diff.trained, strict=True)
    for side, found, trained in sides:
        if trained is not None and trained.digest != found.digest:
            words = f"{side.name}: {trained_words(found, trained)}"
            yield Line("≠", "trained with", words)


def _texts(diff: TokenizerDiff) -> Iterator[Line]:
    left, right = diff.left, diff.right
    if not diff.texts:
        return
    same = diff.equal == diff.texts
    words = f"{diff.equal} of {count(diff.texts, 'text')} have equal ids"
    renumbered = sum(each.same_pieces for each in diff.differences)
    if renumbered:
        words += f", {renumbered} more the same pieces with different ids"
    below = [_difference(each) for each in diff.differences[:SHOWN]]
    rest = len(diff.differences) - SHOWN
    below += [f"... and {count(rest, 'more text')} in .table()"] if rest > 0 else []
    yield Line("=" if same else "≠", "texts", words, tuple(below))
    if not same and diff.prints[0].digest == diff.prints[1].digest:
        said = (
            "all parts are the same: ids are random at each call, as with BPE dropout"
        )
        yield Line("≠", "repeated", said)
    yield Line("", "tokens", f"{left.tokens:,} against {right.tokens:,}")
    for name, words, unlike in (
        ("unknown", *_beside(left, right, "unknown", "tokens")),
        ("coverage", *_beside(left, right, "covered", "characters")),
        ("whole words", *_beside(left, right, "whole", "words")),
    ):
        yield Line("≠" if unlike else "", name, words)
    restored = f"{left.restored} of {diff.texts} texts against {right.restored}"
    unlike = left.restored != right.restored
    yield Line(
        "≠" if unlike else "", "come back", f"{restored}, decoded from their ids"
    )
    if (left.before, left.behind) != (right.before, right.behind):
        yield Line("≠", "around texts", f"{_around(left)}, {_around(right)}")


def _beside(left: Side, right: Side, part: str, whole: str) -> tuple[str, bool]:
    """Say two shares, and tell whether they are apart by what is shown of them."""
    some, others = (
        f"{getattr(each, part) / max(getattr(each, whole), 1):.1%}"
        for each in (left, right)
    )
    return f"{some} of all {whole} against {others}", some != others


def _difference(each: TextDifference) -> str:
    return (
        f"text {each.text}, character {each.character:,}: {_token(each.left)} against "
        f"{_token(each.right)}, in {each.near!r}"
    )


def _token(token: Token) -> str:
    if token.number is None:
        return "the end"
    return f"{token.piece!r} ({token.number})"


def _around(side: Side) -> str:
    before, behind = " ".join(side.before), " ".join(side.behind)
    said = [f"{before} before"] * bool(before) + [f"{behind} behind"] * bool(behind)
    return f"{side.name} puts {' and '.join(said) or 'nothing around'}"


def _ids(diff: TokenizerDiff) -> Iterator[Line]:
    if diff.shifted:
        names = [
            f"{name} {left} against {right}"
            for name, (left, right) in list(diff.shifted.items())[:SHOWN]
        ]
        rest = len(diff.shifted) - SHOWN
        more = [f"... and {rest} more"] if rest > 0 else []
        words = f"{count(len(diff.shifted), 'token')} with a different id"
        yield Line("≠", "shifted", words, (*names, *more))
    if diff.moved is not None and any(_counts(diff.moved)):
        yield _moved(diff, diff.moved)


def _counts(moved: Moved) -> tuple[int, int, int]:
    return moved.count, moved.left_only, moved.right_only


def _moved(diff: TokenizerDiff, moved: Moved) -> Line:
    said = [f"{count(moved.count, 'id')} for a different piece"] * bool(moved.count)
    for side, alone in ((diff.left, moved.left_only), (diff.right, moved.right_only)):
        said += [f"{count(alone, 'id')} only in {side.name}"] * bool(alone)
    first = [f"{at}: {a!r} against {b!r}" for at, a, b in moved.first[:SHOWN]]
    return Line("≠", "ids", ", ".join(said), tuple(first))


def _parts(diff: TokenizerDiff) -> Iterator[Line]:
    left, right = (each.parts for each in diff.prints)
    by: dict[str, list[Change]] = {}
    for change in diff.changes:
        by.setdefault(change.part, []).append(change)
    for name, changes in by.items():
        if name not in left or name not in right:
            sides = [
                part_words(name, p[name]) if name in p else "nothing"
                for p in (left, right)
            ]
            yield Line("≠", name, " against ".join(sides))
            continue
        changes.sort(key=_says_little)
        first, *others = map(change_words, changes[:SHOWN])
        rest = len(changes) - SHOWN
        more = [f"... and {rest:,} more"] if rest > 0 else []
        yield Line("≠", name, first, (*others, *more))


def _says_little(change: Change) -> bool:
    """Tell whether one side alone has an entry, which is a switch or empty."""
    alone = change.left if not change.right else change.right if not change.left else ""
    return alone in _LITTLE


def _verdict(diff: TokenizerDiff) -> str:
    if diff.same:
        return "the same"
    parts = len(diff.prints[0].differing(diff.prints[1]))
    unlike = [f"{count(parts, 'part')} differ{'s' if parts == 1 else ''}"] * bool(parts)
    if diff.texts:
        other = diff.texts - diff.equal
        said = f"different ids in {other} of {count(diff.texts, 'text')}"
        unlike.insert(0, said if other else "the same ids in all texts")
    return ", ".join(unlike)
