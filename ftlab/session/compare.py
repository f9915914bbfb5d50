"""`ftlab.compare`: two checkpoints, adapters or models side by side."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from ftlab.laboratory.comparison import compared
from ftlab.records.errors import BadValueError
from ftlab.rules.words import an
from ftlab.session.diff import diff
from ftlab.session.fingerprint import fingerprint
from ftlab.session.given_models import model_of
from ftlab.views.adapters.comparison import ComparisonView

TOKENIZERS = ("tokenizer.json", "tokenizer.model", "tokenizer_config.json")


def compare(
    a: Any,
    b: Any,
    *,
    batch: Any = None,
    prompts: Sequence[str] = (),
    tokenizer: Any = None,
) -> ComparisonView:
    """Compare two checkpoints, two adapters or two models, and show where they differ.

    Weights are compared one by one, those of LoRA as what they add (scaling x B A,
    which is never put together): norms, distance and angle. So are settings, and the
    tokenizers that lie beside. Files stay on disk and are read a tensor at a time.

    Parameters
    ----------
    a, b
        Folders with safetensors (of an adapter, of a whole model, of two steps of one
        run), or models.
    batch
        Keyword arguments of both models: they are executed too, and where they part is
        in `ComparisonView.difference`, see `ftlab.diff`.
    prompts, tokenizer
        Texts, in the place of ``batch``, and what turns them into ids.

    Returns
    -------
    ComparisonView
        ``comparison`` holds the numbers; ``table()`` has a row for each module.

    Raises
    ------
    BadValueError
        Something else was passed; a folder holds no safetensors, or a pickle alone.

    Examples
    --------
    >>> import copy, ftlab
    >>> from ftlab.faults.builders.tiny import lora
    >>> one = lora()
    >>> other = copy.deepcopy(one)
    >>> ftlab.compare(one, other).equal
    True
    >>> _ = other.get_parameter(
    ...     "base_model.model.model.layers.1.self_attn.q_proj.lora_B.default.weight"
    ... ).data.fill_(0.1)
    >>> [each.place for each in ftlab.compare(one, other).different]
    ['layers.1.attention.q']
    """
    one, other = (_side(each, name) for each, name in ((a, "a"), (b, "b")))
    found = compared(one, other)
    if prompts and batch is None:
        batch = _batch_of(prompts, tokenizer)
    difference, why = None, ""
    if batch is not None:
        try:
            difference = diff(one, other, batch)
        except (OSError, ValueError, RuntimeError) as error:  # the weights are compared
            why = f"{type(error).__name__}: {str(error).splitlines()[0][:160]}"
    return ComparisonView(found, difference, _tokenizers(one, other), why)


def _side(given: Any, name: str) -> Any:
    return Path(given) if isinstance(given, str | Path) else model_of(given, name)


def _batch_of(prompts: Sequence[str], tokenizer: Any) -> Any:
    texts = not isinstance(prompts, str) and all(isinstance(t, str) for t in prompts)
    if not callable(tokenizer) or not texts:
        msg = (
            f"prompts is {an(type(prompts).__name__)} and tokenizer "
            f"{an(type(tokenizer).__name__)}; pass compare(a, b, prompts=[text, ...], "
            "tokenizer=tokenizer)."
        )
        raise BadValueError(msg)
    rows = [tokenizer(text)["input_ids"] for text in prompts]
    longest = max(len(row) for row in rows)
    ids = torch.zeros(len(rows), longest, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for at, row in enumerate(rows):
        ids[at, : len(row)] = torch.tensor(row)
        mask[at, : len(row)] = 1
    return {"input_ids": ids, "attention_mask": mask}


def _tokenizers(one: Any, other: Any) -> tuple[str, ...]:
    """Name the parts in which the tokenizers of two folders differ."""
    folders = [each for each in (one, other) if isinstance(each, Path)]
    if len(folders) < 2 or not all(_has_tokenizer(each) for each in folders):
        return ()
    first, second = (fingerprint(each).parts for each in folders)
    return tuple(n for n in first if first[n] != second.get(n))


def _has_tokenizer(folder: Path) -> bool:
    return any((folder / name).is_file() for name in TOKENIZERS)
