"""Datasets as people have them: conversations, pairs and texts, before any training.

Their cases have a model that nothing is trained in: the dataset is looked at first.
"""

import json
import random
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ftlab.faults.builders.chats import tokenizer
from ftlab.faults.builders.tiny import base
from ftlab.faults.fault import Case, Fault, Rows
from ftlab.faults.variation import current

_NOUNS = (
    "river boat bread town stone light harbour bridge garden engine letter winter "
    "market island teacher window planet kettle forest violin lantern meadow castle"
)
_VERBS = (
    "carries follows remembers paints repairs crosses measures opens answers keeps "
    "mentions borrows collects watches explains"
)
_OTHERS = (
    "quiet early wooden northern bright distant careful narrow ancient cheerful "
    "heavy silver hollow gentle"
)

ROWS = 60
"""Rows of a dataset, unless more are asked for."""


class Writer:
    """Writes sentences that nobody has written before, the same ones for a seed."""

    def __init__(self, offset: int = 0) -> None:
        self._drawn = random.Random(1000 * offset + current().seed)

    def number(self, below: int) -> int:
        """Draw a number."""
        return self._drawn.randrange(below)

    def _word(self, words: str) -> str:
        return self._drawn.choice(words.split())

    def sentence(self) -> str:
        """Write one sentence."""
        what, does, how = (self._word(each) for each in (_NOUNS, _VERBS, _OTHERS))
        thing = f"The {how} {what} {does} the {self._word(_OTHERS)}"
        place = f"{self._word(_NOUNS)} near the {self._word(_OTHERS)} {what}"
        return f"{thing} {place} {self._drawn.randrange(10, 9999)} times."

    def text(self, least: int = 2, most: int = 4) -> str:
        """Write some sentences."""
        count = self._drawn.randint(least, most)
        return " ".join(self.sentence() for _ in range(count))

    def question(self) -> str:
        """Write a question."""
        return f"{self.sentence()[:-1]}, why is that so?"


def talks(
    count: int = ROWS, turns: int = 1, offset: int = 0
) -> list[dict[str, list[dict[str, str]]]]:
    """Write conversations of some turns."""
    writer = Writer(offset)
    return [
        {
            "messages": [
                {"role": role, "content": text()}
                for _ in range(turns)
                for role, text in (
                    ("user", writer.question),
                    ("assistant", writer.text),
                )
            ]
        }
        for _ in range(count)
    ]


def pairs(count: int = ROWS, offset: int = 0) -> list[dict[str, str]]:
    """Write prompts with their completions."""
    writer = Writer(offset)
    return [
        {"prompt": writer.question(), "completion": writer.text()} for _ in range(count)
    ]


def respelt(row: dict[str, str]) -> dict[str, str]:
    """Write a row in capitals and with wider spaces."""
    return {name: text.upper().replace(" ", "  ") for name, text in row.items()}


def one_in(period: int, count: int = ROWS) -> list[int]:
    """Return the numbers of the rows that are broken: every so manieth."""
    return list(range(period // 2, count, period))


def looked_at(
    dataset: Any,
    *,
    spots: Sequence[str] = (),
    made: Any = None,
    evaluation: Any = None,
    max_length: int | None = None,
) -> Case:
    """Make the case of a dataset that is looked at before anything is trained.

    Parameters
    ----------
    spots
        Where the fault is, as a finding's place says it behind ``"data "``.
    made
        The tokenizer; that of `builders.chats` by default.
    """
    given = made if made is not None else tokenizer()
    rows = Rows(dataset, given, evaluation, max_length)
    # of patterns only the star is meant: columns have brackets
    places = tuple(f"data {each.replace('[', '[[]')}" for each in spots)
    return Case(base(), rows=rows, places=places)


def overlong(role: str, *, period: int, fixed: bool) -> Case:
    """Make the case of conversations of which some are longer than what is trained.

    Parameters
    ----------
    role
        Whose message is long.
    period
        Of every so many rows one is broken.
    """
    rows, writer = talks(), Writer(1)
    broken, place = one_in(period), ("user", "assistant").index(role)
    for at in broken if not fixed else ():
        rows[at]["messages"][place]["content"] = writer.text(40, 40)
    return looked_at(rows, spots=[f"row {at}" for at in broken], max_length=600)


def fault_of_rows(title: str, code: str) -> Fault:
    """Describe a fault of a dataset, which is found before anything is trained.

    The places are those that `looked_at` is given.
    """
    return Fault(title, code, ("data *",), steps=0, evident=-1)


def in_file(lines: Sequence[bytes], owner: Any, name: str = "rows.jsonl") -> str:
    """Write lines into a file, which goes when ``owner`` goes."""
    folder = tempfile.TemporaryDirectory(prefix="ftlab-")
    weakref.finalize(owner, folder.cleanup)
    path = Path(folder.name, name)
    path.write_bytes(b"\n".join(lines) + b"\n")
    return str(path)


def as_lines(rows: Sequence[Any]) -> list[bytes]:
    """Write rows as JSON Lines."""
    return [json.dumps(row, ensure_ascii=False).encode() for row in rows]
