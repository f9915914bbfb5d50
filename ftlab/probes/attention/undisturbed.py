"""Keeping a model as it is while its masks are read."""

import contextlib
import functools
import threading
from collections.abc import Iterator
from typing import Any

import torch

from ftlab.probes.tokens.untouched import untouched
from ftlab.records.attributes import attribute_of
from ftlab.records.errors import BadValueError


def _configs(model: torch.nn.Module) -> list[Any]:
    found = (attribute_of(module, "config") for module in model.modules())
    known = {id(each): each for each in found if hasattr(each, "_attn_implementation")}
    return list(known.values())


def implementations_of(model: torch.nn.Module) -> set[str]:
    """Return the attention implementations of a model's configurations."""
    return {
        str(each._attn_implementation)  # noqa: SLF001
        for each in _configs(model)
        if each._attn_implementation  # noqa: SLF001
    }


@contextlib.contextmanager
def implementation_set(model: torch.nn.Module, name: str) -> Iterator[None]:
    """Let a model name another attention implementation; ``""`` changes nothing.

    Raises
    ------
    BadValueError
        transformers does not know it.
    """
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS as KNOWN

    if name and name not in KNOWN:
        msg = (
            f"implementation={name!r} is none that transformers has masks for; it "
            f"knows {', '.join(sorted(KNOWN))}."
        )
        raise BadValueError(msg)
    configs = _configs(model) if name else []
    before = [each._attn_implementation for each in configs]  # noqa: SLF001
    try:
        for each in configs:
            each._attn_implementation = name  # noqa: SLF001
        yield
    finally:
        for each, old in reversed(list(zip(configs, before, strict=True))):
            each._attn_implementation = old  # noqa: SLF001


@contextlib.contextmanager
def undisturbed(model: torch.nn.Module) -> Iterator[None]:
    """Keep random numbers, modes, buffers and gradients as they are.

    Hooks of ftlab's own, of a watch or of a debugger, do not hear the forward.
    """
    modes = [(module, module.training) for module in model.modules()]
    buffers = [
        (each, each.detach().clone()) for each in model.buffers() if not each.is_meta
    ]
    try:
        with (
            untouched(),
            torch.no_grad(),
            _unheard(model),
            _cast_cache_left_alone(),
        ):
            yield
    finally:
        for module, training in modes:
            module.training = training
        for buffer, before in buffers:
            if not torch.equal(buffer, before):
                buffer.detach().copy_(before)


@contextlib.contextmanager
def _cast_cache_left_alone() -> Iterator[None]:
    """Keep autocast from its cache, which a thread that is paused may hold locked.

    Leaving the outermost autocast of a thread empties the cache of all of them. One
    within, as Accelerate puts around a forward, would turn the cache on again; what it
    kept would be there in the next step: old weights, and without a graph.
    """
    before, thread = torch.is_autocast_cache_enabled(), threading.get_ident()
    enable = torch.set_autocast_cache_enabled

    def not_here(enabled: bool) -> None:
        if threading.get_ident() != thread:
            enable(enabled)

    enable(False)
    torch.autocast_increment_nesting()
    torch.set_autocast_cache_enabled = not_here
    try:
        yield
    finally:
        torch.set_autocast_cache_enabled = enable
        torch.autocast_decrement_nesting()
        enable(before)


@contextlib.contextmanager
def _unheard(model: torch.nn.Module) -> Iterator[None]:
    """Put hooks of ftlab aside; those of others may be needed for the forward.

    A forward may put hooks on, as transformers does where hidden states are asked for
    the first time: these stay, in the very tables that their handles know.
    """
    aside: list[tuple[dict[int, Any], dict[int, Any]]] = []
    try:
        everywhere = vars(torch.nn.modules.module)
        for held in (everywhere, *map(vars, model.modules())):
            start = "_global" if held is everywhere else ""
            for name in (f"{start}_forward_pre_hooks", f"{start}_forward_hooks"):
                hooks = held.get(name) or {}
                own = [at for at, hook in hooks.items() if _is_own(hook)]
                if own:
                    aside.append((hooks, dict(hooks)))
                    for at in own:
                        del hooks[at]
        yield
    finally:
        for hooks, before in aside:
            now = dict(hooks)
            hooks.clear()
            hooks.update({a: h for a, h in before.items() if a in now or _is_own(h)})
            hooks.update(now)


def _is_own(hook: Any) -> bool:
    while isinstance(hook, functools.partial):
        hook = hook.func
    owner = getattr(hook, "__self__", None)
    module = getattr(hook, "__module__", None) or type(owner or hook).__module__
    return str(module).partition(".")[0] == __name__.partition(".")[0]
