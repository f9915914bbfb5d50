"""What a look at a conversation of 8,000 tokens costs beyond tokenising it.

In pairs, each right behind the other on one thread: ``apply_chat_template``, and
`ftlab.tokens` with its text. Three more parts are timed alone: the reading of the same
row out of a batch with labels and turns, beside the tokenizer's decoding of it; the
report about its ends; and the first look of a process, which starts the worker that
renders.

    python -m benchmarks.tokens --tokens 8000 --pairs 15
"""

import argparse
import json
import pydoc_data.topics
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

import ftlab
from ftlab.probes.templates.survey import survey
from ftlab.probes.tokens.ends import ends_of
from ftlab.probes.tokens.rows import read_batch

LIMIT = 0.150
"""Seconds that a look may take beyond the tokenising."""

READING = 0.030
"""Seconds that reading a row may take beyond the tokenizer's decoding."""

TEMPLATE = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] "
    "+ '<|im_end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def tokenizer() -> PreTrainedTokenizerFast:
    """Train a byte-level vocabulary on Python's own manual."""
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=8000,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    inner.train_from_iterator(paragraphs(), trainer)
    controls = ("<|im_start|>", "<|im_end|>", "<|pad|>")
    inner.add_special_tokens([AddedToken(each, special=True) for each in controls])
    made = PreTrainedTokenizerFast(
        tokenizer_object=inner, eos_token="<|im_end|>", pad_token="<|pad|>"
    )
    made.chat_template = TEMPLATE
    return made


def paragraphs() -> Iterator[str]:
    """Yield the manual's paragraphs."""
    for name in sorted(pydoc_data.topics.topics):
        yield from filter(str.strip, pydoc_data.topics.topics[name].split("\n\n"))


def conversation(made: Any, length: int) -> list[dict[str, str]]:
    """Return messages of at least so many tokens."""
    talk: list[dict[str, str]] = []
    known = 0
    for at, text in enumerate(filter(lambda each: len(each) > 200, paragraphs())):
        if known >= length and at % 2 == 0:
            break
        talk.append({"role": ("user", "assistant")[at % 2], "content": text})
        known += len(made(text)["input_ids"]) + 6
    return talk


def timed(work: Callable[[], Any]) -> float:
    """Return the seconds that it takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def measured(made: Any, talk: list[dict[str, str]], pairs: int) -> dict[str, float]:
    """Return medians, in seconds."""
    bare: Callable[[], Any] = lambda: made.apply_chat_template(talk, tokenize=True)  # noqa: E731
    first = timed(lambda: repr(ftlab.tokens(made, talk)))
    beyond = []
    for _ in range(pairs):
        without = timed(bare)
        beyond.append(timed(lambda: repr(ftlab.tokens(made, talk))) - without)
    ids = torch.tensor([made.apply_chat_template(talk, tokenize=True)["input_ids"]])
    batch = {"input_ids": ids, "labels": ids, "attention_mask": torch.ones_like(ids)}
    facts = survey(made)
    row = ids[0].tolist()
    reading = [
        timed(lambda: read_batch(batch, made, facts=facts))
        - timed(lambda: made.decode(row))
        for _ in range(pairs)
    ]
    read = read_batch(batch, made, facts=facts)
    ends = [timed(lambda: ends_of(read, facts)) for _ in range(pairs)]
    return {
        "tokens": len(row),
        "tokenising": statistics.median([timed(bare) for _ in range(pairs)]),
        "beyond tokenising": statistics.median(beyond),
        "worst": max(beyond),
        "first look": first,
        "reading beyond decoding": statistics.median(reading),
        "ends": statistics.median(ends),
    }


def main() -> None:
    """Measure, print and, if asked, write what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=8000)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    made = tokenizer()
    found = measured(made, conversation(made, asked.tokens), asked.pairs)
    for name, value in found.items():
        said = f"{value:.0f}" if name == "tokens" else f"{value * 1000:.1f} ms"
        print(f"{name:>24}  {said}")
    if asked.out:
        asked.out.write_text(json.dumps(found, indent=1))
    slow = (
        found["beyond tokenising"] > LIMIT or found["reading beyond decoding"] > READING
    )
    raise SystemExit(1 if slow else 0)


if __name__ == "__main__":
    main()
