"""Pairs of executions that should be equal: one model under two settings."""

import contextlib
import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from ftlab.executions.captures import Captured
from ftlab.executions.side import NotApplicableError, Side
from ftlab.executions.tokens import Meeting
from ftlab.executions.wide import Wide
from ftlab.probes.quantisation.four_bit import never_packed


@dataclass(frozen=True, slots=True)
class Pair:
    """Two executions that are to be compared.

    Attributes
    ----------
    a, b
        The sides. The floor is measured on ``a``, which may be a capture.
    names
        What they are called.
    meeting
        Which tokens are the same; ``None`` where the batches are.
    backward
        Whether gradients are compared.
    rewritten
        Whether the weights of ``b`` were computed and rounded once more.
    """

    a: Side | Captured
    b: Side
    names: tuple[str, str]
    meeting: Meeting | None = None
    backward: bool = True
    rewritten: bool = False


def side(
    model: torch.nn.Module,
    batch: Mapping[str, Any],
    settings: Callable[[], Any] = contextlib.nullcontext,
) -> Side:
    """Return the execution of a model on a batch of keyword arguments."""
    return Side(model, batch, lambda: model(**batch), settings)


def checkpointing(model: Any, batch: Mapping[str, Any]) -> Pair:
    """Compare with gradient checkpointing and without it."""
    if not hasattr(model, "gradient_checkpointing_enable"):
        msg = f"{type(model).__name__} has no gradient_checkpointing_enable()"
        raise NotApplicableError(msg)
    on = is_checkpointed(model)

    def without() -> Any:
        return training(model, _set(model, "gradient_checkpointing", False))

    def within() -> Any:
        return training(model, contextlib.nullcontext() if on else _enabled(model))

    names = ("without checkpointing", "with checkpointing")
    return Pair(side(model, batch, without), side(model, batch, within), names)


def attention(model: Any, batch: Mapping[str, Any]) -> Pair:
    """Compare the attention in use with the plain one, eager."""
    used = getattr(getattr(model, "config", None), "_attn_implementation", None)
    if used is None:
        msg = f"the config of {type(model).__name__} names no attention implementation"
        raise NotApplicableError(msg)
    mask = batch.get("attention_mask")
    if isinstance(mask, torch.Tensor) and mask.dim() > 2:
        msg = "the batch has a mask of its own, made for the attention in use"
        raise NotApplicableError(msg)
    other = "sdpa" if used == "eager" else "eager"
    configs = _configs(model)
    if other == "sdpa" and not getattr(model, "_supports_sdpa", True):
        msg = f"{type(model).__name__} has one implementation of attention"
        raise NotApplicableError(msg)

    def with_it(which: str) -> Any:
        return evaluating(model, _each(configs, "_attn_implementation", which))

    batch = _without_first_labels(batch)
    a, b = (side(model, batch, partial(with_it, w)) for w in (other, used))
    return Pair(a, b, (f"{other} attention", f"{used} attention"))


def _without_first_labels(batch: Mapping[str, Any]) -> Mapping[str, Any]:
    """Mask labels that padding would predict: it has nothing to attend to."""
    labels, mask = batch.get("labels"), batch.get("attention_mask")
    if not isinstance(labels, torch.Tensor) or not isinstance(mask, torch.Tensor):
        return batch
    if labels.shape != mask.shape:
        return batch
    behind = torch.zeros_like(mask, dtype=torch.bool)
    behind[:, 1:] = mask[:, :-1] == 0
    return {**batch, "labels": labels.masked_fill(behind, -100)}


def dtype(model: Any, batch: Mapping[str, Any]) -> Pair:
    """Compare the precision in use with float32."""
    plain = side(model, batch, lambda: evaluating(model, Wide(torch.float32)))
    names = ("the precision in use", "float32")
    return Pair(side(model, batch, lambda: evaluating(model)), plain, names)


def adapter(model: Any, batch: Mapping[str, Any]) -> Pair:
    """Compare the base model, its adapters off, with the adapted one."""
    if not hasattr(model, "disable_adapter"):
        msg = f"{type(model).__name__} is no PeftModel: it has no adapter to switch off"
        raise NotApplicableError(msg)
    if is_merged(model):
        msg = (
            "an adapter is merged, and PEFT would unmerge it for good; unmerge it first"
        )
        raise NotApplicableError(msg)
    off = side(model, batch, lambda: evaluating(model, model.disable_adapter()))
    on = side(model, batch, lambda: evaluating(model))
    return Pair(off, on, ("adapter off", "adapter on"))


def is_merged(model: torch.nn.Module) -> bool:
    """Say whether an adapter is in the weights of what it was put on."""
    return any(getattr(each, "merged", False) is True for each in model.modules())


def merge(model: Any, batch: Mapping[str, Any]) -> Pair:
    """Compare the adapted model with a copy into which the adapter is merged."""
    if not hasattr(model, "merge_and_unload"):
        msg = f"{type(model).__name__} has no merge_and_unload()"
        raise NotApplicableError(msg)
    try:
        merged = copied(model).merge_and_unload()
    except NotImplementedError as error:
        raise NotApplicableError(str(error)) from error
    a, b = (side(m, batch, partial(evaluating, m)) for m in (model, merged))
    return Pair(a, b, ("the adapter", "the merged model"), None, False, rewritten=True)


def copied(model: Any) -> Any:
    """Return a copy of a model that runs by itself.

    A forward that somebody has put onto one module is bound to that: the copy has the
    one of its class.
    """
    twin = copy.deepcopy(model)
    for module in twin.modules():
        vars(module).pop("forward", None)
    return twin


def undropped(model: Any) -> Any:
    """Let a model's dropout drop nothing, for good."""
    for module in model.modules():
        of_torch = type(module).__module__ == "torch.nn.modules.dropout"
        for name, value in [*vars(module).items()]:
            if isinstance(value, float) and (
                "drop" in name or (of_torch and name == "p")
            ):
                setattr(module, name, 0.0)
    return model


def mode(model: Any, batch: Mapping[str, Any]) -> Pair:
    """Compare evaluation with training, dropout left out of both."""
    names = ("evaluation", "training")
    evaluated = side(model, batch, lambda: evaluating(model))
    return Pair(evaluated, side(model, batch, lambda: training(model)), names)


@contextlib.contextmanager
def evaluating(
    model: torch.nn.Module, inner: contextlib.AbstractContextManager[Any] | None = None
) -> Iterator[None]:
    """Put a model into evaluation, within it another context."""
    with _in_mode(model, False), inner or contextlib.nullcontext():
        yield


@contextlib.contextmanager
def training(
    model: torch.nn.Module, inner: contextlib.AbstractContextManager[Any] | None = None
) -> Iterator[None]:
    """Put a model into training, within it another context."""
    with _in_mode(model, True), inner or contextlib.nullcontext():
        yield


@contextlib.contextmanager
def _in_mode(model: torch.nn.Module, train: bool) -> Iterator[None]:
    before = [(module, module.training) for module in model.modules()]
    model.train(train)
    try:
        with never_packed(model):
            yield
    finally:
        for module, was in before:
            module.training = was


def _set(model: torch.nn.Module, name: str, value: Any) -> Any:
    # A wrapper that only hands on what it wraps has no such attribute of its own.
    return _each([m for m in model.modules() if name in vars(m)], name, value)


@contextlib.contextmanager
def _each(objects: Any, name: str, value: Any) -> Iterator[None]:
    before = [(each, getattr(each, name)) for each in objects]
    try:
        for each, _ in before:
            setattr(each, name, value)
        yield
    finally:
        for each, was in before:
            setattr(each, name, was)


_CHECKPOINTING = (
    "gradient_checkpointing",
    "_gradient_checkpointing_func",
    "_require_grads_hook",
    "_require_grads_hooks",
)
"""What `gradient_checkpointing_enable` sets on modules."""


def is_checkpointed(model: torch.nn.Module) -> bool:
    """Say whether a part of a model computes its activations again in backward."""
    return any(getattr(m, "gradient_checkpointing", False) for m in model.modules())


def checkpointed(model: Any, on: bool | None) -> Any:
    """Switch gradient checkpointing on or off within a context; ``None``: as it is.

    Raises
    ------
    NotApplicableError
        It is to be switched on, and the model does not know it.
    """
    if on is None or on == is_checkpointed(model):
        return contextlib.nullcontext()
    if not on:
        return _set(model, "gradient_checkpointing", False)
    if not hasattr(model, "gradient_checkpointing_enable"):
        msg = f"{type(model).__name__} has no gradient_checkpointing_enable()"
        raise NotApplicableError(msg)
    return _enabled(model)


@contextlib.contextmanager
def _enabled(model: Any) -> Iterator[None]:
    before = [
        (m, {n: vars(m)[n] for n in _CHECKPOINTING if n in vars(m)})
        for m in model.modules()
    ]
    hooks = {id(hook) for _, had in before for hook in _hooks(had)}
    try:
        model.gradient_checkpointing_enable()
        yield
    finally:
        for module, had in before:
            for hook in _hooks(vars(module)):
                if id(hook) not in hooks:
                    hook.remove()
            for name in _CHECKPOINTING:
                vars(module).pop(name, None)
            vars(module).update(had)


def _hooks(attributes: Mapping[str, Any]) -> list[Any]:
    """List the hooks that let gradients through a frozen embedding."""
    one = attributes.get("_require_grads_hook")
    several = attributes.get("_require_grads_hooks") or ()
    return [*several] if one is None else [one, *several]


def _configs(model: torch.nn.Module) -> list[Any]:
    held = {id(c): c for m in model.modules() if (c := getattr(m, "config", None))}
    return [c for c in held.values() if hasattr(c, "_attn_implementation")]
