"""Counts the tokens of rows, many at a time, in a thread beside the reading.

Who calls whom: `Scan` adds row after row. Whole blocks go to a thread, in which the
fast tokenizers count while the next rows are looked at; what was counted comes back
through the function that was passed, in the order of the rows.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from ftlab.probes.data.rows.parts import RowParts
from ftlab.probes.data.token_counts import TokenCounter

BLOCK_ROWS, BLOCK_CHARS = 1024, 1 << 22
"""Rows, and characters, that are counted at once.

The thread waits for the interpreter a few times for each block, and its cores with it:
of 256 rows, a scan takes a tenth longer.
"""

Counted = tuple[list[int], list[int]]
"""Tokens of each text, and how many of them are unknown; none of these where no token
is."""

Take = Callable[[int, RowParts, list[int], list[int]], object]


@dataclass(slots=True)
class _Block:
    """Rows whose tokens are still to be counted."""

    rows: list[tuple[int, RowParts]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    chars: int = 0


class Counting:
    """Hands on how many tokens each text of a row has.

    Parameters
    ----------
    counter
        Counts tokens; ``None`` to count characters.
    take
        Called with a row's number, what was read of it, and the tokens and the unknown
        tokens of its texts.

    Attributes
    ----------
    refused, first_refused
        How many rows made the tokenizer raise; number of the first, and what it said.

    Examples
    --------
    >>> from ftlab.probes.data.counting import Counting
    >>> from ftlab.probes.data.rows.formats import parts_of
    >>> counting = Counting(None, lambda number, read, counts, unknown: print(counts))
    >>> counting.add(0, parts_of({"prompt": "Why?", "completion": "So."}))
    >>> counting.finish()
    [4, 3]
    >>> counting.close()
    """

    def __init__(self, counter: TokenCounter | None, take: Take) -> None:
        self.refused = 0
        self.first_refused: tuple[int, str] | None = None
        self._counter = counter
        self._take = take
        self._block = _Block()
        self._under_way: tuple[_Block, Future[Counted]] | None = None
        self._thread = ThreadPoolExecutor(1, "ftlab-tokens")

    def add(self, number: int, read: RowParts) -> None:
        """Count a row when there are enough of them."""
        block = self._block
        block.rows.append((number, read))
        texts = [part.text for part in read.parts]
        block.texts += texts
        block.chars += sum(map(len, texts))
        if len(block.rows) >= BLOCK_ROWS or block.chars >= BLOCK_CHARS:
            self._next_block()

    def finish(self) -> None:
        """Count what is still waiting."""
        self._next_block()
        if self._under_way is not None:
            before, self._under_way = self._under_way, None
            self._received(*before)
        self.close()

    def close(self) -> None:
        """Let the thread go."""
        self._thread.shutdown()

    def _next_block(self) -> None:
        done, self._block = self._block, _Block()
        if self._counter is None:
            self._hand_on(done, (list(map(len, done.texts)), []))
            return
        before = self._under_way
        future = self._thread.submit(self._counter.counts, _whole(done.texts))
        self._under_way = done, future
        if before is not None:
            self._received(*before)

    def _received(self, block: _Block, counting: Future[Counted]) -> None:
        """Take a block; where a text makes the tokenizer raise, row by row."""
        try:
            counted = counting.result()
        except Exception:  # noqa: BLE001  the user's own tokenizer
            for number, read in block.rows:
                self._alone(number, read)
        else:
            self._hand_on(block, counted)

    def _alone(self, number: int, read: RowParts) -> None:
        counter, texts = self._counter, _whole([part.text for part in read.parts])
        try:
            counted = ([], []) if counter is None else counter.counts(texts)
        except Exception as error:  # noqa: BLE001  the user's own tokenizer
            self.refused += 1
            said = f"{type(error).__name__}: {error}"[:200]
            self.first_refused = self.first_refused or (number, said)
        else:
            self._hand_on(_Block([(number, read)]), counted)

    def _hand_on(self, block: _Block, counted: Counted) -> None:
        counts, unknown = counted
        start = 0
        for number, read in block.rows:
            end = start + len(read.parts)
            self._take(number, read, counts[start:end], unknown[start:end])
            start = end


def _whole(texts: list[str]) -> list[str]:
    """Replace halves of characters, which no tokenizer takes."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return [text.encode("utf-8", "replace").decode() for text in texts]
    return texts
