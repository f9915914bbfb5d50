"""A batch of tokens in words: what a log and a stored notebook keep."""

from collections.abc import Iterable

import numpy as np

from ftlab.views.style import count
from ftlab.views.tokens.tokens_summary import Sample, TokenSummary, visible

TEXT_SAMPLES, TEXT_REMARKS = 8, 12
NAMES = {"bos": "BOS", "eos": "EOS", "stop": "stop"}


def batch_words(summary: TokenSummary) -> str:
    """Say what a batch holds, a line for each row."""
    samples = summary.samples
    total = sum(len(sample.row.ids) for sample in samples)
    padding = sum(int(sample.padding.sum()) for sample in samples)
    head = f"{count(len(samples), 'sample')}, {count(total, 'token')}"
    lines = [f"Tokens: {head}, {padding:,} padding", *remark_lines(summary.faults)]
    for sample in samples[:TEXT_SAMPLES]:
        lines.append(f"{visible_name(sample)}: {describe(sample)}")
    hidden = len(samples) - TEXT_SAMPLES
    if hidden > 0:
        lines.append(f"... and {count(hidden, 'more sample')} in .table()")
    return "\n".join([*lines, *remark_lines(summary.batch.remarks)])


def remark_lines(remarks: Iterable[str]) -> list[str]:
    """Return the first remarks, each in one line."""
    said = [" ".join(each.split()) for each in remarks]
    rest = len(said) - TEXT_REMARKS
    more = [f"... and {count(rest, 'more remark')}"] if rest > 0 else []
    return [*said[:TEXT_REMARKS], *more]


def visible_name(sample: Sample) -> str:
    """Return a row's name in one line: a source may be a name out of a file."""
    return visible(sample.name).replace("·", " ")


def describe(sample: Sample) -> str:
    """Say a sample's length, padding, trained part and special tokens in one line."""
    hidden = int(sample.padding.sum())
    words = [count(len(sample.row.ids) - hidden, "token")]
    if hidden:
        words.append(f"{hidden:,} padding {sample.side}")
    trained = sample.trained
    words.append(
        "no labels per token" if trained is None else f"trained on {trained:,}"
    )
    if sample.roles:
        said = [f"{visible(role)} {n:,}" for role, n in sample.roles.items()]
        words.append("tokens by role: " + " / ".join(said))
    words += _standing(sample)
    if sample.eos_trained is not None:
        words.append("EOS is trained" if sample.eos_trained else "EOS is not trained")
    if sample.segments > 1:
        words.append(f"{sample.segments} sequences packed")
    return ", ".join(words)


def _standing(sample: Sample) -> list[str]:
    said = []
    for name, word in NAMES.items():
        at = sample.special.get(name)
        ends = sample.special.get("eos")
        if at is None:
            continue
        if name == "stop" and ends is not None and np.array_equal(at, ends):
            continue
        places = ", ".join(map(str, at[:4].tolist())) + (", ..." if len(at) > 4 else "")
        said.append(f"{word} at {places}" if len(at) else f"no {word}")
    return said
