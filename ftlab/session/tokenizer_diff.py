"""`ftlab.tokenizer_diff`: two tokenizers over the same texts, and part by part."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ftlab.probes.tokenizers.compare_texts import Encoder, first_difference, moved
from ftlab.probes.tokenizers.reader_of import reader_of
from ftlab.records.errors import BadValueError
from ftlab.records.fingerprint import Fingerprint
from ftlab.records.said import said_of
from ftlab.records.tokenizer_diff import Side, TextDifference, TokenizerDiff
from ftlab.rules.words import an
from ftlab.session.tokenizer_sources import Source, source_of
from ftlab.views.tokenizers.tokenizer_diff import TokenizerDiffView


def tokenizer_diff(
    a: Any, b: Any, texts: str | Iterable[str] | None = None
) -> TokenizerDiffView:
    """Compare two tokenizers: what they make of texts, and what they are made of.

    Parameters
    ----------
    a, b
        Tokenizers, processors, folders of models, adapters or tokenizers, or
        fingerprints that were kept. A fingerprint has no vocabulary: with one, only
        parts are compared.
    texts
        Texts of your own, such as ``dataset["text"]``. They are encoded without what a
        tokenizer puts around a text, which is told besides.

    Returns
    -------
    TokenizerDiffView
        ``same``, ``table()`` with the first difference of each text, ``figure()`` and
        ``widget()``; ``diff`` has all numbers. A checkpoint that holds another
        tokenizer than it was trained with under a watch is named.

    Raises
    ------
    BadValueError
        Something else was passed, a folder cannot be loaded, or a tokenizer raises at
        a text.

    Examples
    --------
    >>> import ftlab
    >>> from tokenizers import Tokenizer, models
    >>> one, two = (Tokenizer(models.WordLevel({"a": 0, e: 1}, "a")) for e in "bc")
    >>> ftlab.tokenizer_diff(one, two, texts=["a", "b"]).table()[["text", "right_id"]]
       text  right_id
    0     1         0
    >>> ftlab.tokenizer_diff(one, two, texts=[3])
    Traceback (most recent call last):
    ...
    ftlab.records.errors.BadValueError: texts[0] is an int; ...
    """
    given = _checked(texts)
    left, right = (source_of(each, "tokenizer_diff(a, b)") for each in (a, b))
    names = _names(left, right)
    prints = left.fingerprint, right.fingerprint
    diff = TokenizerDiff(
        Side(names[0]),
        Side(names[1]),
        prints,
        shifted=_shifted(*prints),
        unchecked=tuple(_unchecked(left, right, names, given)),
        trained=(left.trained, right.trained),
    )
    if left.tokenizer is None or right.tokenizer is None:
        return TokenizerDiffView(diff)
    one, two = (
        _encoder(name, each) for name, each in zip(names, (left, right), strict=True)
    )
    found = _compare(one, two, given or [])
    compared = replace(
        diff,
        left=one.side(),
        right=two.side(),
        texts=len(given or ()),
        equal=len(given or ()) - len(found),
        differences=found,
        moved=moved(one, two),
    )
    return TokenizerDiffView(compared)


def _checked(texts: Any) -> list[str] | None:
    if texts is None:
        return None
    if isinstance(texts, str):
        return [texts]
    if not isinstance(texts, Iterable):
        msg = (
            f"texts is {an(type(texts).__name__)}; it must be a list of texts, such as "
            'dataset["text"].'
        )
        raise BadValueError(msg)
    found = list(texts)
    for at, each in enumerate(found):
        if not isinstance(each, str):
            msg = (
                f"texts[{at}] is {an(type(each).__name__)}; each must be a text, such "
                'as those of dataset["text"].'
            )
            raise BadValueError(msg)
    return found


def _names(left: Source, right: Source) -> tuple[str, str]:
    if left.name != right.name:
        return left.name, right.name
    return f"{left.name} (a)", f"{right.name} (b)"


def _unchecked(
    left: Source, right: Source, names: tuple[str, str], texts: list[str] | None
) -> Iterable[str]:
    kept = [
        name
        for name, each in zip(names, (left, right), strict=True)
        if each.tokenizer is None
    ]
    if kept:
        yield (
            f"ids: {' and '.join(kept)} kept no vocabulary; pass the tokenizer or its "
            "folder"
        )
    elif texts is None:
        yield "ids of texts: pass some of your own, tokenizer_diff(a, b, texts=[...])"


def _encoder(name: str, source: Source) -> Encoder:
    reader = reader_of(source.tokenizer)
    if reader is None:  # a source has a tokenizer that can be read
        raise BadValueError(name)
    try:
        return Encoder(name, reader)
    except Exception as error:
        msg = f"The vocabulary of {name} cannot be read: {said_of(error)}."
        raise BadValueError(msg) from error


def _compare(
    one: Encoder, two: Encoder, texts: list[str]
) -> tuple[TextDifference, ...]:
    found = []
    for at, text in enumerate(texts):
        try:
            found.append(first_difference(at, text, one, two))
        except Exception as error:
            msg = (
                f"texts[{at}], {text[:40]!r}, cannot be encoded by both tokenizers: "
                f"{said_of(error)}. Leave it out, or give it an unknown token."
            )
            raise BadValueError(msg) from error
    return tuple(each for each in found if each is not None)


def _shifted(one: Fingerprint, two: Fingerprint) -> dict[str, tuple[int, int]]:
    """Return the added tokens that both have, under other ids."""
    some, others = _added(one), _added(two)
    return {
        name: (some[name], others[name])
        for name in some
        if name in others and some[name] != others[name]
    }


def _added(fingerprint: Fingerprint) -> dict[str, int]:
    part = fingerprint.parts.get("added tokens")
    entries = {} if part is None else part.entries
    return {str(json.loads(value)[0]): int(at) for at, value in entries.items()}
