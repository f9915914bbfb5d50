"""How fast `ftlab.data` is beside the tokenizer alone, and how much memory it takes.

The rows are conversations, made of the paragraphs of Python's own manual. In turn, each
right behind the other: ``tokenizer(texts)``, a thousand rows at a time as a dataset's
``map`` does it, over texts that are in memory and joined to one for each row; and
`ftlab.data` over the rows' file, which it reads and looks at. The tokenizer uses all
cores in both. The search for rows that are almost the same is a pass of its own, and is
given apart. Then a longer stream is scanned, and the growth of the process' memory over
its second half is given for each row: what is kept of it in memory shows there.

    python -m benchmarks.data_scan --rows 100000 --pairs 5
"""

import argparse
import itertools
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil

import ftlab
from benchmarks.tokens import paragraphs, tokenizer
from ftlab.records.data_scan import DataScan

LIMIT = 0.8
"""Share of the tokenizer's own speed that the scan must reach."""

BATCH = 1000
"""Rows that the tokenizer is given at once when it is alone."""

GROWTH = 60.0
"""Bytes of memory for each row of a stream that it may take."""


def conversations(count: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Yield conversations of two questions and two answers."""
    numbers = random.Random(seed)
    texts = [text for text in paragraphs() if len(text) > 40]
    for at in range(count):
        said = [numbers.choice(texts) for _ in range(4)]
        said[0] = f"{at}: {said[0]}"
        roles = itertools.cycle(("user", "assistant"))
        messages = [
            {"role": r, "content": t} for r, t in zip(roles, said, strict=False)
        ]
        yield {"messages": messages}


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds that it takes, and what it gives."""
    began = time.perf_counter()
    made = work()
    return time.perf_counter() - began, made


def speeds(made: Any, path: Path, pairs: int) -> dict[str, float]:
    """Return medians over pairs: microseconds for each row, and the ratio of each."""
    rows = [json.loads(line) for line in path.open(encoding="utf-8")]
    texts = ["\n".join(m["content"] for m in row["messages"]) for row in rows]
    del rows
    alone, scanned, near = [], [], []
    for _ in range(pairs):
        alone.append(timed(lambda: tokenised(made, texts))[0])
        seconds, report = timed(lambda: ftlab.data(path, made, max_length=2048))
        scan: DataScan = report.summary
        if scan.near is not None:
            near.append(scan.near.seconds)
            seconds -= scan.near.seconds
        scanned.append(seconds)
    each = 1e6 / len(texts)
    ratios = [one / two for one, two in zip(alone, scanned, strict=True)]
    return {
        "tokenizer alone, us a row": statistics.median(alone) * each,
        "scan, us a row": statistics.median(scanned) * each,
        "share of the tokenizer's speed": statistics.median(ratios),
        "lowest share": min(ratios),
        "near duplicates, us a row": statistics.median(near or [0.0]) * each,
    }


def tokenised(made: Any, texts: list[str]) -> int:
    """Tokenise all texts, and return how many tokens they are."""
    return sum(
        len(ids)
        for at in range(0, len(texts), BATCH)
        for ids in made(texts[at : at + BATCH], add_special_tokens=False)["input_ids"]
    )


class Stream:
    """Short rows that are made when they are read, and the memory beside them."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.memory: list[int] = []

    def __iter__(self) -> Iterator[dict[str, str]]:
        process = psutil.Process()
        for at in range(self.count):
            if at % (self.count // 20) == 0:
                self.memory.append(process.memory_info().rss)
            yield {"prompt": f"Name {at * 7919}?", "completion": f"It is {at}."}


def growth(made: Any, count: int) -> float:
    """Return the bytes for each row by which memory grows in a stream's second half."""
    stream = Stream(count)
    ftlab.data(stream, made, near_duplicates=False)
    half = len(stream.memory) // 2
    return (stream.memory[-1] - stream.memory[half]) / (count / 20 * (half - 1))


def main() -> None:
    """Measure, print and, if asked, write what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--stream", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    made = tokenizer()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(r) + "\n" for r in conversations(asked.rows))
        found = speeds(made, path, asked.pairs)
    found["bytes of memory a row"] = growth(made, asked.stream)
    for name, value in found.items():
        print(f"{name:>32}  {value:.3g}")
    if asked.out:
        asked.out.write_text(json.dumps(found, indent=1))
    slow = found["share of the tokenizer's speed"] < LIMIT
    raise SystemExit(1 if slow or found["bytes of memory a row"] > GROWTH else 0)


if __name__ == "__main__":
    main()
