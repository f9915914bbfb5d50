"""Layouts of rows that datasets for classic tasks have, by the names of their columns.

Pairs of a text and what is written of it, two texts that are judged together, a
question about a text, choices, words with tags, and texts to be embedded.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from ftlab.probes.data.rows import layout_names as called
from ftlab.probes.data.rows.language_names import language_columns
from ftlab.probes.data.rows.layout_names import Names, first_of, known_names
from ftlab.probes.data.rows.layout_values import (
    Said,
    answers_of,
    further,
    listed,
    misplaced,
    no_choice,
    several,
    text_of,
)
from ftlab.probes.data.rows.plain import plain

TEXT, PAIR = "text", "prompt and answer"


class Layout(NamedTuple):
    """What a row says.

    Attributes
    ----------
    kind
        As of `ftlab.probes.data.rows.row_parts.RowParts`.
    texts
        Column, role and text of each.
    apart
        Texts in which rows that are almost the same do not differ.
    labels
        Columns beside the texts.
    faults
        Kind of fault, column, and what is there.
    """

    kind: str
    texts: tuple[Said, ...]
    apart: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    faults: tuple[Said, ...] = ()


def classic_layout(row: Mapping[str, Any]) -> Layout | None:
    """Read a row by the names of its columns; ``None`` where they tell nothing.

    Examples
    --------
    >>> from ftlab.probes.data.rows.layouts import classic_layout
    >>> classic_layout({"article": "A long text.", "highlights": "Short."}).texts
    (('article', 'user', 'A long text.'), ('highlights', 'assistant', 'Short.'))
    >>> classic_layout({"premise": "a", "hypothesis": "b", "label": 1}).labels
    ('label',)
    """
    names, readers = _readers_of(tuple(row))
    found = (read(row, names) for read in readers)
    return next((each for each in found if each is not None), None)


def summarised(row: Mapping[str, Any]) -> Layout | None:
    """Read a row whose column `text` has a summary or a translation beside it."""
    if row.keys().isdisjoint(called.SUMMARIES):
        return None
    names = known_names(tuple(row))
    written = first_of(names, called.SUMMARIES)
    if written is None or not isinstance(row[written], str) or _labels(names):
        return None
    return _pair(row, names)


@lru_cache(called.LAYOUTS)
def _labels(names: Names) -> tuple[str, ...]:
    return tuple([names[each] for each in called.LABELS if each in names])


def _tags(row: Mapping[str, Any], names: Names) -> Layout | None:
    column = first_of(names, called.WORDS)
    words = None if column is None else listed(row[column])
    if column is None or words is None:
        return None
    faults: list[Said] = []
    tags = called.tag_columns(names)
    for name in tags:
        held = plain(row[name])
        single = isinstance(held, list) and not any(isinstance(t, list) for t in held)
        if single and len(held) != len(words):
            says = f"{len(held):,} for {len(words):,} words"
            faults.append(("tags-disagree", name, says))
    text = (column, "", " ".join(words))
    return Layout(TEXT, (text,), (), tags, tuple(faults))


def _choices(row: Mapping[str, Any], names: Names) -> Layout | None:
    asked, key = first_of(names, called.STEMS), first_of(names, called.KEYS)
    if asked is None or key is None or not isinstance(row[asked], str):
        return None
    options = list(_options(row, names))
    right = plain(row[key])
    if len(options) < 2 or not isinstance(right, str | int):
        return None
    context = first_of(names, (*called.CONTEXTS, "premise"))
    about = context if context != asked and _is_text(row, context) else None
    shown = (*([about] if about else []), asked)
    texts = [(name, "user", row[name]) for name in shown] + options
    apart = tuple(text for *_, text in texts[1:])
    faults: tuple[Said, ...] = ()
    if says := no_choice(right, len(options), _labels_of(row, names)):
        faults = (("answer-of-no-choice", key, says),)
    return Layout(PAIR, (*texts, (key, "assistant", str(right))), apart, (), faults)


def _options(row: Mapping[str, Any], names: Names) -> Iterator[Said]:
    column = first_of(names, called.CHOICES)
    if column is not None:
        held = plain(row[column])
        if isinstance(held, Mapping):
            held = held.get("text", list(held.values()))
        for text in listed(held) or ():
            yield column, "user", text
        return
    for name in called.numbered_choices(names):
        if isinstance(row[name], str):
            yield name, "user", row[name]


def _labels_of(row: Mapping[str, Any], names: Names) -> list[Any] | None:
    """Return the letters or numbers of the choices, where the row gives them."""
    column = first_of(names, called.CHOICES)
    held = None if column is None else plain(row[column])
    return listed(held.get("label")) if isinstance(held, Mapping) else None


def _is_text(row: Mapping[str, Any], column: str | None) -> bool:
    return column is not None and isinstance(row[column], str)


def _asked(row: Mapping[str, Any], names: Names) -> Layout | None:
    """Read a question, and the text that it is about."""
    asked, answer = first_of(names, called.QUESTIONS), first_of(names, called.ANSWERS)
    if asked is None or answer is None or not isinstance(row[asked], str):
        return None
    given = answers_of(row[answer])
    if given is None:
        return None
    column = first_of(names, called.CONTEXTS)
    texts: list[Said] = [(asked, "user", row[asked])]
    faults: list[Said] = []
    if column is not None and isinstance(row[column], str):
        texts.insert(0, (column, "user", row[column]))
        faults += misplaced(row[column], answer, given)
    if given:
        texts.append((answer, "assistant", given[0][0]))
    apart = (row[asked],) if len(texts) > 1 + bool(given) else ()
    return Layout(PAIR, tuple(texts), apart, (), tuple(faults))


def _translated(row: Mapping[str, Any], names: Names) -> Layout | None:
    column = names.get("translation")
    held: Mapping[str, Any] = {}
    if column is not None and isinstance(row[column], Mapping):
        held = {f"{column}.{name}": text for name, text in row[column].items()}
    elif column is None:
        held = {name: row[name] for name in language_columns(names)}
    if len(held) < 2 or not all(isinstance(t, str | None) for t in held.values()):
        return None
    *asked, last = [(name, text or "") for name, text in held.items()]
    texts = [(name, "user", text) for name, text in asked]
    return Layout(PAIR, (*texts, (last[0], "assistant", last[1])))


def _compared(row: Mapping[str, Any], names: Names) -> Layout | None:
    """Read two texts that are judged together, and the judgement beside them."""
    found = called.two_texts(names)
    if found is None or not all(isinstance(row[each], str | None) for each in found):
        return None
    one, two = [(name, "", row[name] or "") for name in found]
    faults = []
    if one[2].strip() and not two[2].strip():
        faults.append(("empty-text", two[0], "nothing to read"))
    return Layout(TEXT, (one, two), (two[2],), _labels(names), tuple(faults))


def _embedded(row: Mapping[str, Any], names: Names) -> Layout | None:
    """Read texts that are to be near one another, and far."""
    anchor, positive = (
        first_of(names, each) for each in (called.ANCHORS, called.POSITIVES)
    )
    if anchor is None or positive is None or not isinstance(row[anchor], str):
        return None
    far = [names[name] for name in names if name.startswith("neg")]
    if not far and positive == names.get("pos"):  # parts of speech
        return None
    texts: list[Said] = [(anchor, "", row[anchor])]
    for name in (positive, *far):
        texts += [(name, "", text) for text in several(row[name])]
    if len(texts) < 2:
        return None
    apart = tuple(text for *_, text in texts[1:])
    near = {text.strip() for name, _, text in texts[1:] if name == positive} - {""}
    faults: tuple[Said, ...] = tuple(
        ("equal-pair", name, f"the same as {positive}")
        for name, _, text in texts[1:]
        if name != positive and text.strip() in near
    )
    return Layout(TEXT, tuple(texts), apart, _labels(names), faults[:1])


def _pair(row: Mapping[str, Any], names: Names) -> Layout | None:
    """Read a text, and what is written of it; beside a label, both are judged."""
    found = called.asked_and_answered(names)
    if found is None or not isinstance(row[found[0]], str | None | list):
        return None
    asked, answered = found
    one, two = text_of(row[asked]), text_of(_written(row[answered]))
    if one is None or two is None:
        return None
    labels = [name for name in _labels(names) if name not in found]
    if any(name in ("label", "labels") for name in labels):
        texts: tuple[Said, ...] = ((asked, "", one), (answered, "", two))
        return Layout(TEXT, texts, (two,), tuple(labels))
    system = names.get("system")
    told = None if system is None else row[system]
    before = [(str(system), "system", told)] if isinstance(told, str) else []
    said = [(asked, "user", one), *_beside_text(row, names, found)]
    return Layout(PAIR, (*before, *said, (answered, "assistant", two)))


def _written(value: Any) -> Any:
    """Return a query as people read it, where a dictionary holds it (WikiSQL)."""
    return value.get("human_readable") if isinstance(value, Mapping) else value


def _beside_text(
    row: Mapping[str, Any], names: Names, read: tuple[str, str]
) -> Iterator[Said]:
    for each in (*called.REQUESTS, *called.FURTHER):
        name = names.get(each)
        if name is not None and name not in read and (text := further(row[name])):
            yield name, "user", text


def _several(row: Mapping[str, Any], names: Names) -> Layout | None:
    """Read texts of one list, as sentence-transformers takes them."""
    column = first_of(names, called.SEVERAL)
    texts = None if column is None else listed(row[column])
    if column is None or texts is None or len(texts) < 2:
        return None
    said = tuple([(column, "", text) for text in texts])
    return Layout(TEXT, said, tuple(texts[1:]), _labels(names))


def _single(row: Mapping[str, Any], names: Names) -> Layout | None:
    labels = _labels(names)
    judged = called.JUDGED_TEXTS if labels else ()
    asked = (names[each] for each in (*called.TEXTS, *judged) if each in names)
    column = next((each for each in asked if isinstance(row[each], str)), None)
    if column is None:
        return None
    texts: list[Said] = [(column, "", row[column])]
    title = first_of(names, called.TITLES)
    if title is not None and title != column and isinstance(row[title], str):
        texts.append((title, "", row[title]))
    apart = tuple(text for *_, text in texts[1:])
    return Layout(TEXT, tuple(texts), apart, labels)


_Reader = Callable[[Mapping[str, Any], Names], Layout | None]
_READERS: tuple[tuple[_Reader, tuple[tuple[str, ...], ...]], ...] = (
    (_tags, (called.WORDS,)),
    (_choices, (called.STEMS, called.KEYS)),
    (_asked, (called.QUESTIONS, called.ANSWERS)),
    (_embedded, (called.ANCHORS, called.POSITIVES)),
    (_compared, ()),
    (_translated, ()),
    (_pair, ()),
    (_several, (called.SEVERAL,)),
    (_single, ((*called.TEXTS, *called.JUDGED_TEXTS),)),
)
"""What reads rows, and the names of which they have one of each group at least."""


@lru_cache(called.LAYOUTS)
def _readers_of(columns: tuple[object, ...]) -> tuple[Names, tuple[_Reader, ...]]:
    """Return the names of columns, and what may read rows that have them."""
    names = known_names(columns)
    fitting = (
        read
        for read, groups in _READERS
        if not any(names.spelt.keys().isdisjoint(group) for group in groups)
    )
    return names, tuple(fitting)
