"""Writes ids as text and reads the text again: the right tokenizer gives them back.

Its vocabulary writes each text in one way. Where ids are those of another vocabulary,
neighbours stand side by side that this one would have joined, or cut elsewhere.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.probes.tokens.pieces import text_tokenizer
from ftlab.probes.tokens.template_survey import left_as_it_was
from ftlab.records.round_trip import RoundTrip
from ftlab.records.sample_facts import SampleFacts

ROWS, TOKENS = 8, 256
"""Samples that are read, and first tokens of each."""

STRETCH, OUTER = 8, 2
"""Tokens between two special ones from which on they are read, and those at both ends
of it that a cut or a space may have changed."""

SITES, SHARE = 4, 0.04
"""Places of a row, and their share of its tokens, from which on it is broken."""

SAME = 0.98
"""Share of labels that are tokens of the row: below, ids may be noise on purpose."""

Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Site:
    position: int
    held: list[int]
    back: list[int]


def round_trips(
    samples: Iterable[tuple[SampleFacts, Ids]],
    special: Mapping[str, frozenset[int]],
    tokenizer: Any,
) -> RoundTrip | None:
    """Read some samples; ``None`` where nothing can be told.

    A tokenizer that draws how it cuts (dropout of merges) gives no text back as it was.
    """
    inner = text_tokenizer(tokenizer)
    if inner is None or draws(inner):
        return None
    controls = special.get("control", frozenset()) | _added(inner) | _unknown(inner)
    rows = tokens = sites = broken = 0
    first: tuple[SampleFacts, _Site] | None = None
    plain = (each for each in samples if _is_plain(each[0]))
    with left_as_it_was(inner):
        for sample, ids in itertools.islice(plain, ROWS):
            found = list(_stretches(ids[:TOKENS].tolist(), controls))
            count = sum(len(each) for _, each in found)
            apart = [site for at, each in found for site in _apart(at, each, inner)]
            sick = len(apart) >= max(SITES, SHARE * count)
            rows, tokens = rows + bool(count), tokens + count
            sites, broken = sites + len(apart), broken + sick
            if sick and first is None:
                first = sample, apart[0]
    if not rows:
        return None
    told = RoundTrip(rows, tokens, sites, broken)
    return told if first is None else _with(told, *first, inner)


def draws(tokenizer: Any) -> bool:
    """Tell whether a tokenizer cuts one text in several ways.

    Examples
    --------
    >>> from tokenizers import Tokenizer, models
    >>> from ftlab.probes.tokens.round_trips import draws
    >>> draws(Tokenizer(models.BPE(dropout=0.1)))
    True
    """
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    settings = getattr(tokenizer, "sp_model_kwargs", None) or {}
    dropout = getattr(getattr(backend, "model", None), "dropout", None)
    return bool(dropout) or bool(settings.get("enable_sampling"))


def _is_plain(sample: SampleFacts) -> bool:
    """Tell whether the ids are the text: labels beside them may say otherwise."""
    labelled = sample.labelled and sample.trained > 0
    return not labelled or max(sample.same, sample.ahead) >= SAME


def _added(tokenizer: Any) -> frozenset[int]:
    return frozenset(getattr(tokenizer, "added_tokens_decoder", None) or {})


def _unknown(tokenizer: Any) -> frozenset[int]:
    """Return the id for what the vocabulary lacks: it gives no text back."""
    known = getattr(tokenizer, "unk_token_id", None)
    return frozenset({known}) if isinstance(known, int) else frozenset()


def _stretches(
    ids: Sequence[int], controls: frozenset[int]
) -> Iterator[tuple[int, list[int]]]:
    """Yield the text between special tokens, with its first position."""
    for special, group in itertools.groupby(
        enumerate(ids), lambda each: each[1] in controls or each[1] < 0
    ):
        held = list(group)
        if not special and len(held) >= STRETCH:
            yield held[0][0], [number for _, number in held]


def _apart(start: int, ids: list[int], tokenizer: Any) -> Iterator[_Site]:
    """Yield the places within a stretch at which other ids come back."""
    back = read_again(ids, tokenizer)
    if back is None or back == ids or read_again(back, tokenizer) != back:
        return  # without a decoder, nor do its own ids come back
    matcher = SequenceMatcher(None, ids, back, autojunk=False)
    for kind, one, other, begin, end in matcher.get_opcodes():
        if kind != "equal" and one >= OUTER and other <= len(ids) - OUTER:
            yield _Site(start + one, ids[one:other], back[begin:end])


def read_again(ids: list[int], tokenizer: Any) -> list[int] | None:
    """Return the ids of the text that ids stand for; ``None`` where they have none."""
    try:
        text = tokenizer.decode(ids, clean_up_tokenization_spaces=False)
        settings = {"add_special_tokens": False, "truncation": False, "padding": False}
        return list(tokenizer(text, **settings)["input_ids"])
    except Exception:  # noqa: BLE001  any tokenizer, with any ids
        return None


def _with(
    told: RoundTrip, sample: SampleFacts, site: _Site, tokenizer: Any
) -> RoundTrip:
    held, back = (_written(each, tokenizer) for each in (site.held, site.back))
    place = sample.micro_batch, sample.row, sample.start + site.position
    return RoundTrip(told.rows, told.tokens, told.sites, told.broken, place, held, back)


def _written(ids: Sequence[int], tokenizer: Any) -> str:
    pieces = [str(each) for each in tokenizer.convert_ids_to_tokens(list(ids[:OUTER]))]
    return " ".join(pieces) + (" ..." if len(ids) > OUTER else "")
