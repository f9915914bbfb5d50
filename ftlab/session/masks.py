"""`ftlab.masks`: who attends to whom, and who must not."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ftlab.probes.attention.config_masks import config_masks
from ftlab.probes.attention.documents import Marks, marks_of, rows_of
from ftlab.probes.attention.given import Given, of_model, of_trainer
from ftlab.probes.attention.layer_masks import masks_of
from ftlab.probes.attention.measure import Measured, measure
from ftlab.probes.attention.padded_prompts import FIX, behind_padding
from ftlab.probes.attention.padding_plans import padding_plans
from ftlab.probes.attention.remedies import remedies
from ftlab.probes.attention.row_lengths import row_lengths
from ftlab.probes.attention.words import with_words
from ftlab.records.attributes import attribute_of
from ftlab.records.errors import BadValueError, FtlabError
from ftlab.rules.words import an
from ftlab.session.arguments import first_given
from ftlab.session.integrations.transformers import is_trainer
from ftlab.session.mask_batches import checked
from ftlab.views.masks.masks import MaskView

Batch = Mapping[str, Any]


def masks(
    subject: Any = None,
    batch: Batch | None = None,
    *,
    config: Any = None,
    tokenizer: Any = None,
    processing_class: Any = None,
    implementation: str = "",
    causal: bool | None = None,
    exact: bool | None = None,
    max_length: int = 0,
) -> MaskView:
    """Look at the attention that a model will use for a batch.

    The model's own forward is run up to its blocks, of which none is computed, and the
    mask functions that it asks transformers for are kept. They are evaluated tile by
    tile, so that a mask of 32,000 x 32,000 is never made. What a query attends to is
    held against what the batch itself tells: its padding and its documents.

    Parameters
    ----------
    subject
        A model; a ``transformers.Trainer``, whose first batch is taken unless one is
        passed; or a paused debugger.
    batch
        What the data loader yields, and what else the forward takes: ``use_cache``,
        ``past_key_values``, a custom 4-D ``attention_mask``.
    config
        Instead of a model: its configuration.
    tokenizer, processing_class
        Gives the special tokens, and the words of tokens; two spellings of the same
        argument.
    implementation
        Another attention implementation than the model's, to see what it would do:
        ``"eager"``, ``"sdpa"``, ``"flash_attention_2"``, ``"flex_attention"``.
    causal
        Whether tokens must not see later ones. By default the model says it, and where
        the batch has labels only trained tokens must not be seen early: a prompt may.
    exact
        Look at every pair, or at some queries of each cell. By default at every pair up
        to 3 billion of them.
    max_length
        Length to compare static padding with; a trainer may know it.

    Returns
    -------
    MaskView
        With ``table()``, ``figure()`` and ``widget()``.

    Raises
    ------
    BadValueError
        Something else was passed, or the model has no blocks to read masks from.

    Examples
    --------
    Two documents in one row, and a mask of ones that keeps position ids from telling
    them apart:

    >>> import ftlab, torch
    >>> from ftlab.faults.builders.tiny import llama
    >>> ids = torch.tensor([[5, 6, 7, 8, 9]])
    >>> batch = {"input_ids": ids, "position_ids": torch.tensor([[0, 1, 2, 0, 1]])}
    >>> batch["attention_mask"] = torch.ones_like(ids)
    >>> float(ftlab.masks(llama(), batch).table()["illegal"].iloc[0])
    0.4
    >>> ftlab.masks(llama())
    Traceback (most recent call last):
    ...
    ftlab.records.errors.BadValueError: ...
    """
    tokenizer = first_given(tokenizer, processing_class)
    _check_asked(causal, max_length)
    batch = checked(batch)
    if config is not None and subject is None:
        measured = _from_config(config, batch, tokenizer, causal=causal, exact=exact)
        return MaskView(measured.report, measured.closer)
    given = _given(subject, batch)
    trainer = subject if is_trainer(subject) else None
    tokenizer = first_given(tokenizer, getattr(trainer, "processing_class", None))
    tokenizer = getattr(tokenizer, "tokenizer", tokenizer)
    marks = marks_of(tokenizer, attribute_of(given.model, "config"))

    def look(changed: Batch, *, every: bool | None = exact) -> Measured:
        name = type(_innermost(given.model)).__name__
        try:
            found = masks_of(given.model, lambda: given.run(changed), implementation)
        except FtlabError:
            raise
        except Exception as error:
            msg = (
                f"{name} could not be called with this batch: {type(error).__name__}: "
                f"{error}. Pass a batch from its data loader, or read the masks from "
                "its configuration: ftlab.masks(batch=batch, config=model.config)."
            )
            raise BadValueError(msg) from error
        return measure(found, changed, marks, model=name, causal=causal, exact=every)

    measured = look(given.batch)

    def attempt(changed: Batch) -> float:
        moved = of_model(given.model, changed).batch
        rows = look(moved, every=False).report.rows
        return max((row.illegal for row in rows), default=0.0)

    report = with_words(measured.report, given.batch, tokenizer)
    told = () if trainer else _behind_padding(given)
    remarks = (*report.remarks, *remedies(given.batch, report, attempt), *told)
    plans = padding_plans(
        report.documents,
        lengths=row_lengths(trainer),
        batch_size=_batch_size(trainer) or len(report.documents),
        max_length=max_length or _max_length(trainer),
    )
    return MaskView(replace(report, remarks=remarks, plans=plans), measured.closer)


def _behind_padding(given: Given) -> list[str]:
    words = behind_padding(given.model, given.batch)
    return [f"{words}; {FIX}"] if words else []


def _check_asked(causal: object, max_length: object) -> None:
    if causal not in (None, True, False):
        msg = (
            f"causal={causal!r}; allowed are True, False, and None for the model's own."
        )
        raise BadValueError(msg)
    if type(max_length) is not int or max_length < 0:
        msg = (
            f"max_length={max_length!r}; pass a number of tokens, such as "
            "max_length=2048, or 0 for none."
        )
        raise BadValueError(msg)


def _given(subject: Any, batch: Batch | None) -> Given:
    torch = sys.modules.get("torch")
    if is_trainer(subject):
        return of_trainer(subject, batch)
    if torch is not None and isinstance(subject, torch.nn.Module):
        if batch is None or ("input_ids" not in batch and "inputs_embeds" not in batch):
            msg = (
                f"masks() was given a {type(subject).__name__} and no batch with "
                "input_ids. Pass a batch from the data loader: ftlab.masks(model, "
                "next(iter(loader)))."
            )
            raise BadValueError(msg)
        return of_model(subject, batch)
    under_way = getattr(subject, "under_way", None)
    if under_way is not None:
        model, inputs, owner = under_way()
        batch = batch or _batch_among(inputs)
        return of_trainer(owner, batch) if is_trainer(owner) else of_model(model, batch)
    what = "nothing" if subject is None else an(type(subject).__name__)
    msg = (
        f"masks() was given {what}; pass a model and a batch, ftlab.masks(model, "
        "batch), a transformers.Trainer, a paused debugger, or a batch and a "
        "configuration, ftlab.masks(batch=batch, config=config)."
    )
    raise BadValueError(msg)


def _batch_among(inputs: Any) -> Batch:
    """Find the batch among the arguments of a paused step."""
    for each in (inputs, *inputs) if isinstance(inputs, list | tuple) else (inputs,):
        if hasattr(each, "items") and "input_ids" in each:
            return dict(each)
    msg = (
        "The paused step was not given a mapping with input_ids. Pass the batch: "
        "ftlab.masks(dbg, batch)."
    )
    raise BadValueError(msg)


def _from_config(
    config: Any, batch: Batch | None, tokenizer: Any, **asked: Any
) -> Measured:
    if not hasattr(config, "model_type"):
        msg = (
            f"config is {an(type(config).__name__)}; it must be a model's "
            "configuration: model.config, or "
            "transformers.AutoConfig.from_pretrained(folder)."
        )
        raise BadValueError(msg)
    ids = rows_of((batch or {}).get("input_ids"))
    if batch is None or ids is None:
        msg = (
            "masks(config=...) needs a batch with input_ids as well: ftlab.masks("
            "batch=batch, config=config)."
        )
        raise BadValueError(msg)
    marks: Marks = marks_of(tokenizer, config)
    found = config_masks(config, batch, (ids.shape[0], ids.shape[1]))
    name = (getattr(config, "architectures", None) or [type(config).__name__])[0]
    measured = measure(found, batch, marks, model=name, **asked)
    report = with_words(measured.report, batch, tokenizer)
    return replace(measured, report=report)


def _innermost(model: Any) -> Any:
    """Return the model that PEFT wraps."""
    base = attribute_of(model, "get_base_model")
    return base() if callable(base) else model


def _batch_size(trainer: Any) -> int:
    found = getattr(getattr(trainer, "args", None), "per_device_train_batch_size", None)
    return found if isinstance(found, int) else 0


def _max_length(trainer: Any) -> int:
    found = getattr(getattr(trainer, "args", None), "max_length", None)
    return found if isinstance(found, int) else 0
