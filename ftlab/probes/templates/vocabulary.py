"""What a vocabulary makes of a template's control strings."""

import re
from typing import Any

from ftlab.probes.templates.borders import Controls
from ftlab.probes.templates.shape import ANSWERS, QUESTIONS, RESULT, SYSTEM, Shape

Ids = dict[str, tuple[int, ...]]


class Vocabulary:
    """A tokenizer, asked about the texts of a template's shape.

    Examples
    --------
    >>> from ftlab.probes.templates.borders import Controls
    >>> from ftlab.probes.templates.shape import Shape
    >>> from ftlab.probes.templates.vocabulary import Vocabulary
    >>> Vocabulary(None, Controls()).pieces(Shape(openings={"user": "<u>"}))
    {}
    """

    def __init__(self, tokenizer: Any, controls: Controls) -> None:
        self._tokenizer = getattr(tokenizer, "tokenizer", tokenizer)
        self._controls = controls

    def ids(self, shape: Shape) -> dict[str, Ids]:
        """Return the ids of openings and ends, cut from whole renderings."""
        found: dict[str, Ids] = {"opening_ids": {}, "end_ids": {}, "last_end_ids": {}}
        kinds = {
            "opening_ids": shape.openings,
            "end_ids": shape.ends,
            "last_end_ids": shape.last_ends,
        }
        for kind, name, role, text, behind in _PLACES:
            known = kinds[kind].get(role)
            whole = shape.text(name)
            if not known or whole is None or text not in whole:
                continue
            at = whole.rindex(text) if behind else whole.index(text)
            start = at + len(text) if behind else at - len(known)
            if whole[start : start + len(known)] == known:
                found[kind][role] = self._within(whole, start, start + len(known))
        return found

    def pieces(self, shape: Shape) -> dict[str, int]:
        """Return how many tokens each control string is."""
        strings = dict.fromkeys(
            c for text in _written(shape) for c in self._controls.inside(text)
        )
        counted = {each: len(self._encoded(each)) for each in strings}
        return {each: count for each, count in counted.items() if count}

    def swallowed(self, shape: Shape) -> dict[str, str]:
        """Return the white space that added tokens take with them, by token."""
        found: dict[str, str] = {}
        for token in dict(
            getattr(self._tokenizer, "added_tokens_decoder", {})
        ).values():
            name = str(token)
            for flag, pattern in _STRIPPED.items():
                beside = re.search(
                    pattern % re.escape(name), "\0".join(_written(shape))
                )
                if not getattr(token, flag, False) or beside is None:
                    continue
                with_space, without = f"x{beside[0]}x", f"x{name}x"
                if self._encoded(with_space) == self._encoded(without) != []:
                    found[name] = beside[1]
        return found

    def stops(self, shape: Shape, model: Any) -> Ids:
        """Return the ids at which a generation would end, by who says so."""
        found = {
            "template": self._first_control(shape.last_ends.get("assistant", "")),
            "history": self._first_control(shape.ends.get("assistant", "")),
            "tokenizer": _ids(getattr(self._tokenizer, "eos_token_id", None)),
        }
        for name in ("config", "generation_config"):
            settings = getattr(model, name, None)
            found[name] = _ids(getattr(settings, "eos_token_id", None))
        return {name: ids for name, ids in found.items() if ids}

    def repeats_bos(self, text: str) -> bool:
        """Say whether the tokenizer puts a second BOS before a rendered text."""
        bos = getattr(self._tokenizer, "bos_token_id", None)
        if bos is None or not text:
            return False
        return self._encoded(text, add_special_tokens=True)[:2] == [bos, bos]

    def _encoded(self, text: str, *, add_special_tokens: bool = False) -> list[int]:
        encode = getattr(self._tokenizer, "encode", None)
        if encode is None:
            return []
        try:
            return [int(i) for i in encode(text, add_special_tokens=add_special_tokens)]
        except Exception:  # noqa: BLE001  of code that is not ours
            return []

    def _first_control(self, text: str) -> tuple[int, ...]:
        """Return the id of the first control string that is one token."""
        for string in self._controls.inside(text):
            ids = self._encoded(string)
            if len(ids) == 1:
                return (ids[0],)
        return ()

    def _within(self, text: str, start: int, end: int) -> tuple[int, ...]:
        """Return the tokens that lie within a stretch of a text."""
        if self._tokenizer is None:
            return ()
        try:
            coded = self._tokenizer(
                text, add_special_tokens=False, return_offsets_mapping=True
            )
            pairs = zip(coded["input_ids"], coded["offset_mapping"], strict=True)
        except Exception:  # noqa: BLE001  slow tokenizers give no offsets
            return ()
        return tuple(int(i) for i, (a, b) in pairs if start <= a < b <= end)


def _written(shape: Shape) -> list[str]:
    texts = [*shape.openings.values(), *shape.ends.values()]
    return [*texts, *shape.last_ends.values(), shape.generation_prompt]


_STRIPPED = {"lstrip": r"(\s+)%s", "rstrip": r"%s(\s+)"}
"""Where white space goes with an added token, by its setting."""

_PLACES = (
    ("opening_ids", "conversation", "user", QUESTIONS[1], False),
    ("opening_ids", "conversation", "assistant", ANSWERS[0], False),
    ("opening_ids", "tool calls", "tool", RESULT, False),
    ("opening_ids", "system", "system", SYSTEM, False),
    ("end_ids", "conversation", "user", QUESTIONS[0], True),
    ("end_ids", "conversation", "assistant", ANSWERS[0], True),
    ("end_ids", "tool calls", "tool", RESULT, True),
    ("end_ids", "system", "system", SYSTEM, True),
    ("last_end_ids", "answer", "assistant", ANSWERS[0], True),
    ("last_end_ids", "question", "user", QUESTIONS[0], True),
    ("last_end_ids", "result", "tool", RESULT, True),
)
"""Which ids stand where: kind, rendering, role, text, and whether they follow it."""


def _ids(value: Any) -> tuple[int, ...]:
    if isinstance(value, int) and not isinstance(value, bool):
        return (value,)
    if isinstance(value, list | tuple):
        return tuple(int(each) for each in value)
    return ()
