"""`ftlab.compare`: two checkpoints, adapters or models side by side."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, overload

import torch

from ftlab.laboratory.carriers import adapter_names
from ftlab.laboratory.comparison import compared
from ftlab.laboratory.mounting import Mounted
from ftlab.records.errors import BadValueError
from ftlab.rules.words import an
from ftlab.runlog.run import Run
from ftlab.session.capture import capture
from ftlab.session.diff import diff
from ftlab.session.fingerprint import fingerprint
from ftlab.session.given_models import model_of
from ftlab.session.open_run import open_run
from ftlab.session.run_views import RunViews
from ftlab.views.adapters.comparison import ComparisonView
from ftlab.views.steps.run_comparison import RunComparisonView

TOKENIZERS = ("tokenizer.json", "tokenizer.model", "tokenizer_config.json")


@overload
def compare(a: RunViews | Run, b: RunViews | Run) -> RunComparisonView: ...


@overload
def compare(
    a: Any,
    b: Any = None,
    *,
    adapters: Any = None,
    batch: Any = None,
    prompts: Sequence[str] = (),
    tokenizer: Any = None,
) -> ComparisonView: ...


def compare(
    a: Any,
    b: Any = None,
    *,
    adapters: Any = None,
    batch: Any = None,
    prompts: Sequence[str] = (),
    tokenizer: Any = None,
) -> ComparisonView | RunComparisonView:
    """Compare two checkpoints, two adapters or two models, and show where they differ.

    Weights are compared one by one, those of LoRA as what they add (scaling x B A,
    which is never put together): norms, distance and angle. So are settings, and the
    tokenizers that lie beside. Files stay on disk and are read a tensor at a time.
    Two runs are compared step by step: since when they differ, in what first, and why.

    Parameters
    ----------
    a, b
        Folders with safetensors (of an adapter, of a whole model, of two steps of one
        run), or models; or two watches, opened runs or folders of runs. With
        ``adapters``, ``a`` alone is enough.
    adapters
        Of models with several adapters, the name of one for each side:
        ``ftlab.compare(model, adapters=("math", "chat"))``.
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
    if _is_run(a) or _is_run(b):
        if not (_is_run(a) and _is_run(b)) or adapters is not None or batch is not None:
            msg = (
                "a run is compared with a run alone, by what was recorded: "
                "compare(run, other_run), without adapters= and batch=."
            )
            raise BadValueError(msg)
        return RunComparisonView(*(_opened(each) for each in (a, b)))
    names = _names(adapters)
    if b is None and not names[0]:
        msg = (
            "compare(a) has one side: pass compare(a, b), or two adapters of a model, "
            'compare(model, adapters=("math", "chat")).'
        )
        raise BadValueError(msg)
    one = _side(a, "a", names[0])
    other = _side(a, "a", names[1]) if b is None else _side(b, "b", names[1])
    found = compared(one, other, names)
    if prompts and batch is None:
        batch = _batch_of(prompts, tokenizer)
    difference, why = None, ""
    if batch is not None:
        try:
            difference = _executed(one, other, batch, names)
        except (OSError, ValueError, RuntimeError) as error:  # the weights are compared
            why = f"{type(error).__name__}: {str(error).splitlines()[0][:160]}"
    return ComparisonView(found, difference, _tokenizers(one, other), why)


def _is_run(given: Any) -> bool:
    folder = isinstance(given, str | Path) and (Path(given) / "run.json").is_file()
    return folder or isinstance(given, Run | RunViews)


def _opened(given: Any) -> Any:
    return open_run(given) if isinstance(given, str | Path) else given


def _names(adapters: Any) -> tuple[str, str]:
    if adapters is None:
        return "", ""
    several = isinstance(adapters, list | tuple) and len(adapters) == 2
    if several and all(isinstance(each, str) and each for each in adapters):
        return adapters[0], adapters[1]
    msg = f'adapters={adapters!r}: pass a name for each side, as ("math", "chat").'
    raise BadValueError(msg)


def _side(given: Any, name: str, adapter: str) -> Any:
    if isinstance(given, str | Path):
        if not adapter:
            return Path(given)
        msg = f"{name} is a folder, which has one adapter; leave adapters= out."
        raise BadValueError(msg)
    model = model_of(given, name, "compare(model, other)")
    known = adapter_names(model)
    if adapter and adapter not in known:
        has = f"has {', '.join(known)}" if known else "has no adapter"
        msg = f"adapters= names {adapter!r}, and {name} {has}; pass one that it has."
        raise BadValueError(msg)
    return model


def _executed(one: Any, other: Any, batch: Any, names: tuple[str, str]) -> Any:
    """Execute both sides, with one adapter each where these are named."""
    if not names[0]:
        return diff(one, other, batch)
    with TemporaryDirectory() as folder:
        with Mounted(one) as mounted:
            mounted.activate(names[0])
            held = capture(one, batch, Path(folder) / "one")
        with Mounted(other) as mounted:
            mounted.activate(names[1])
            return diff(held, other)


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
