"""Layer *data*: a batch can be read, and what is in it fits the model."""

from collections.abc import Mapping
from typing import Any

import torch

from ftlab.probes.attention.given import of_model
from ftlab.probes.attention.padded_prompts import FIX, behind_padding
from ftlab.records.attributes import attribute_of
from ftlab.records.finding import Severity
from ftlab.rules.words import counted, listed
from ftlab.session.preflight.reading import UnreadableError
from ftlab.session.preflight.saying import Check, Fault, Items
from ftlab.session.preflight.seen import Seen
from ftlab.session.preflight.template_checks import template_checks

IGNORED = -100
"""The label that cross-entropy leaves out."""

_READ = Check("data", "a batch can be read")
_IDS = Check("data", "token ids within the vocabulary")
_LABELS = Check("data", "labels to learn from")
_RANGE = Check("data", "labels within the vocabulary")
_FLOATS = Check("data", "float inputs are finite")
_PROMPTS = Check("data", "prompts end in their last token")
_SIZE = Check("data", "tokenizer fits the embedding")

HAND_OVER = (
    "preflight(..., batches=loader), batch=batch, or dataset= with collator=; a "
    "Trainer has its own"
)


def data_checks(seen: Seen) -> Items:
    """Yield the items of the layer."""
    yield from _tokenizer(seen)
    yield from template_checks(seen)
    if not seen.batches:
        yield _unread(seen)
        return
    first = seen.batches[0]
    yield _READ.passed(f"the first batch holds {_outline(first)}")
    batch = seen.batch
    if "input_ids" in batch:
        yield _ids(seen, batch["input_ids"])
    if "labels" in batch:
        yield from _labels(seen, batch["labels"])
    elif batch:
        yield _LABELS.not_checked(
            f"the batch has no labels, but {listed(sorted(batch), 4)}",
            "fine if your step makes its own; otherwise let the collator add labels",
        )
        yield from _prompts(seen)
    yield from _floats(batch)


def _unread(seen: Seen) -> Any:
    if seen.unread is None:
        return _READ.not_checked("no batch was passed", HAND_OVER)
    if isinstance(seen.unread, UnreadableError):
        return _READ.not_checked(
            str(seen.unread), "preflight(..., batch=batch) with your own batch"
        )
    words = f"{type(seen.unread).__name__}: {str(seen.unread).strip() or 'no message'}"
    return _READ.failed(
        Fault(
            f"reading the first batch raised {words}",
            cause="The dataset, or the collator that joins its rows, already fails on "
            "the first rows: training would stop here.",
            fix="Take one row and collate it by hand: collator([dataset[0]]).",
            places=[("data", "batch 0")],
        )
    )


def _outline(batch: Any) -> str:
    if isinstance(batch, Mapping):
        parts = [f"{name} {_shape(value)}" for name, value in batch.items()]
        return listed(parts, 6)
    if isinstance(batch, tuple | list):
        return listed([_shape(value) for value in batch], 6)
    return _shape(batch)


def _shape(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        kind = str(value.dtype).removeprefix("torch.")
        return f"{kind}{list(value.shape)}"
    return type(value).__name__


def vocabulary(model: Any) -> int:
    """Return the rows of the input embedding; 0 where there is none."""
    try:
        rows = attribute_of(model.get_input_embeddings(), "weight").shape[0]
    except (AttributeError, NotImplementedError):
        rows = getattr(attribute_of(model, "config"), "vocab_size", 0)
    return rows if isinstance(rows, int) else 0


def _ids(seen: Seen, ids: torch.Tensor) -> Any:
    rows = vocabulary(seen.model)
    if not rows:
        return _IDS.not_checked(
            "the model names no input embedding",
            "give it get_input_embeddings()",
        )
    low, high = _extremes(ids)
    if low >= 0 and high < rows:
        return _IDS.passed(f"ids {low} to {high}, embedding of {rows} rows")
    wrong = high if high >= rows else low
    return _IDS.failed(
        Fault(
            f"token id {wrong} is outside the embedding of {rows} rows",
            cause="Tokens were added to the tokenizer and the embedding was not "
            "resized, or the tokenizer belongs to a different model. On a GPU this "
            "causes a device-side assert.",
            fix="model.resize_token_embeddings(len(tokenizer)) before "
            "get_peft_model, or load the model's own tokenizer.",
            places=[("data", "input_ids"), ("token", str(wrong))],
        ),
        lowest=low,
        highest=high,
        rows=rows,
    )


def _extremes(ids: torch.Tensor) -> tuple[int, int]:
    return (int(ids.min()), int(ids.max())) if ids.numel() else (0, 0)


def _labels(seen: Seen, labels: torch.Tensor) -> Items:
    if labels.is_floating_point():
        yield _LABELS.passed(f"{_shape(labels)}: not token ids")
        return
    kept = labels[labels != IGNORED]
    total, used = labels.numel(), kept.numel()
    if not used:
        yield _nothing_to_learn(total)
        return
    rows = labels.reshape(labels.shape[0], -1) if labels.dim() > 1 else labels[:, None]
    empty = int((rows == IGNORED).all(1).sum())
    share = f"{used} of {counted(total, 'label')} are trained on"
    more = f"; {counted(empty, 'row')} of {len(rows)} have none" if empty else ""
    yield _LABELS.passed(share + more, trained=used, ignored=total - used)
    ids = seen.batch.get("input_ids")
    if ids is not None and ids.shape == labels.shape:
        yield from _label_range(seen, kept)


def _prompts(seen: Seen) -> Items:
    """Look at the ends of prompts, where nobody has said how a loss is made of them."""
    given = seen.given
    if given.trainer is not None or given.step is not None:
        return
    if words := behind_padding(seen.model, of_model(seen.model, seen.batch).batch):
        yield _PROMPTS.failed(
            Fault(
                words,
                cause="The prompts are padded on the right, and the next token is read "
                "from the last column.",
                fix=f"{FIX}; training rows may stay padded on the right.",
                places=[("config", "padding_side")],
                severity=Severity.WARNING,
            )
        )


def _nothing_to_learn(total: int) -> Any:
    return _LABELS.failed(
        Fault(
            f"all {total} labels of the first batch are {IGNORED}: its loss is NaN or "
            "0 and nothing is learned from it",
            cause="The response template does not occur in the text, the completion "
            "was truncated by max_length, or the mask is inverted.",
            fix="ftlab.tokens(batch=batch, tokenizer=tokenizer) shows which tokens "
            "have a label; fix the collator or raise max_length.",
            places=[("data", "labels")],
        ),
        labels=total,
        ignored=total,
    )


def _label_range(seen: Seen, kept: torch.Tensor) -> Items:
    rows = vocabulary(seen.model)
    low, high = _extremes(kept)
    if not rows:
        return
    if low >= 0 and high < rows:
        yield _RANGE.passed(f"labels {low} to {high}, vocabulary of {rows}")
        return
    wrong = high if high >= rows else low
    yield _RANGE.failed(
        Fault(
            f"label {wrong} is neither {IGNORED} nor a token of the vocabulary of "
            f"{rows}",
            cause="Padding has the pad token's id instead of -100, or the labels come "
            "from a different tokenizer.",
            fix="labels[attention_mask == 0] = -100, or collate with "
            "DataCollatorForSeq2Seq(tokenizer, label_pad_token_id=-100).",
            places=[("data", "labels"), ("token", str(wrong))],
        ),
        lowest=low,
        highest=high,
        vocabulary=rows,
    )


def _floats(batch: Mapping[str, torch.Tensor]) -> Items:
    floats = {n: v for n, v in batch.items() if v.is_floating_point()}
    bad = {n: int((~v.isfinite()).sum()) for n, v in floats.items()}
    bad = {name: count for name, count in bad.items() if count}
    if bad:
        name, count = next(iter(bad.items()))
        yield _FLOATS.failed(
            Fault(
                f"{name} holds {counted(count, 'value')} that are NaN or infinite",
                cause="The data is broken before the model sees it.",
                fix=f"Find the rows: batch[{name!r}].isfinite().flatten(1).all(1).",
                places=[("data", name)],
            ),
            **bad,
        )
    elif floats:
        yield _FLOATS.passed(f"{listed(sorted(floats), 4)}: all values are finite")


def _tokenizer(seen: Seen) -> Items:
    tokenizer, rows = seen.given.tokenizer, vocabulary(seen.model)
    inner = getattr(tokenizer, "tokenizer", tokenizer)
    if inner is None or not rows or not hasattr(inner, "__len__"):
        return
    size = len(inner)
    if size <= rows:
        yield _SIZE.passed(f"{size} tokens, embedding of {rows} rows")
        return
    yield _SIZE.failed(
        Fault(
            f"the tokenizer has {size} tokens but the embedding {rows} rows",
            cause="Tokens were added and the embedding was not resized, or this is a "
            "different model's tokenizer.",
            fix="model.resize_token_embeddings(len(tokenizer)) before get_peft_model; "
            "with LoRA train the new rows too (trainable_token_indices).",
            places=[("config", "vocab_size")],
        ),
        tokens=size,
        rows=rows,
    )
