"""Find the model and optimizer of a loop among the variables of the code that runs.

Only variables are looked at: the frames of the call, the namespaces that were given,
their containers, and the attributes of a ``self``. The garbage collector's list of all
objects would also find what the user has thrown away.
"""

import inspect
import sys
import sysconfig
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

_DEPTH = 60
_ITEMS = 64
_COPIES = sys.version_info < (3, 13)
_LIBRARIES = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")})


@dataclass
class Loop:
    """What trains in a hand-written loop."""

    model: torch.nn.Module
    optimizers: list[torch.optim.Optimizer]
    schedulers: list[Any] = field(default_factory=list)
    scaler: Any = None
    tokenizer: Any = None


def frame_objects(frame: types.FrameType | None) -> list[Any]:
    """Return the live objects that ``frame`` and its callers can name."""
    found: list[Any] = []
    seen: set[int] = set()
    for _ in range(_DEPTH):
        if frame is None:
            break
        names = frame.f_locals
        found += objects(names)
        if _COPIES and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            # Up to Python 3.12 this is a copy that the frame would keep, and with it
            # the batch of this moment for as long as the function runs.
            names.clear()
        if id(frame.f_globals) not in seen and not _is_library(frame.f_code):
            seen.add(id(frame.f_globals))
            found += objects(frame.f_globals)
        frame = frame.f_back
    return found


def _is_library(code: types.CodeType) -> bool:
    return code.co_filename.startswith(_LIBRARIES)


def objects(names: Mapping[str, Any]) -> list[Any]:
    """Return what trains among the values of ``names``, each once.

    Lists, tuples and dicts are looked into, and the attributes of a ``self``.
    """
    found: dict[int, Any] = {}
    for name, value in tuple(names.items()):
        for each in (value, *_inside(name, value)):
            if _matters(each):
                found[id(each)] = each
    return list(found.values())


def _inside(name: str, value: Any) -> Iterable[Any]:
    if isinstance(value, list | tuple):
        return tuple(value) if len(value) <= _ITEMS else ()
    if type(value) is dict:
        return tuple(value.values()) if len(value) <= _ITEMS else ()
    if name == "self" and hasattr(value, "__dict__"):
        return tuple(vars(value).values())
    return ()


def _matters(value: Any) -> bool:
    kinds = (torch.nn.Module, torch.optim.Optimizer, torch.amp.GradScaler)
    return isinstance(value, kinds) or _is_scheduler(value) or _is_tokenizer(value)


def _is_scheduler(value: Any) -> bool:
    return isinstance(value, torch.optim.lr_scheduler.LRScheduler)


def _is_tokenizer(value: Any) -> bool:
    kinds = {base.__name__ for base in type(value).__mro__}
    return "PreTrainedTokenizerBase" in kinds


def find_loop(
    found: Iterable[Any], called: torch.nn.Module | None = None
) -> Loop | None:
    """Return the loop that trains, or ``None`` when no optimizer belongs to a module.

    Parameters
    ----------
    found
        Live objects, in any order.
    called
        The module whose forward began; the model must hold it.
    """
    found = list(found)
    modules = [it for it in found if isinstance(it, torch.nn.Module)]
    if called is not None:
        modules = [called, *(it for it in modules if _holds(it, called))]
    optimizers = unwrapped(it for it in found if isinstance(it, torch.optim.Optimizer))
    stepped = {id(parameter) for each in optimizers for parameter in parameters(each)}
    model = max(modules, key=lambda it: _rank(it, stepped), default=None)
    if model is None or _rank(model, stepped)[0] == 0:
        return None
    held = {id(parameter) for parameter in model.parameters()}
    return complete(
        Loop(model, [it for it in optimizers if _ids(it) & held]),
        found,
    )


def complete(loop: Loop, found: Iterable[Any]) -> Loop:
    """Add the schedulers, the scaler and the tokenizer that go with ``loop``."""
    # Several frames of the stack, or a list and a name, may hold the same one.
    found = list({id(each): each for each in found}.values())
    mine = {id(each) for each in loop.optimizers}
    for each in found:
        if _is_scheduler(each) and id(_innermost(each.optimizer)) in mine:
            loop.schedulers.append(each)
        elif isinstance(each, torch.amp.GradScaler):
            loop.scaler = each
    loop.tokenizer = one_tokenizer(found)
    return loop


def one_tokenizer(found: Iterable[Any]) -> Any:
    """Return the tokenizer among ``found``, unless there is none, or several."""
    tokenizers = {id(each): each for each in found if _is_tokenizer(each)}
    return next(iter(tokenizers.values())) if len(tokenizers) == 1 else None


def unwrapped(
    optimizers: Iterable[torch.optim.Optimizer],
) -> list[torch.optim.Optimizer]:
    """Return each optimizer once, without accelerate's wrapper around it."""
    return list({id(it): it for it in map(_innermost, optimizers)}.values())


def parameters(optimizer: torch.optim.Optimizer) -> Iterator[torch.Tensor]:
    """Yield the parameters of all groups."""
    for group in optimizer.param_groups:
        yield from group["params"]


def _innermost(optimizer: Any) -> Any:
    while isinstance(getattr(optimizer, "optimizer", None), torch.optim.Optimizer):
        optimizer = optimizer.optimizer
    return optimizer


def _ids(optimizer: torch.optim.Optimizer) -> set[int]:
    return {id(parameter) for parameter in parameters(optimizer)}


def _holds(module: torch.nn.Module, inner: torch.nn.Module) -> bool:
    return any(each is inner for each in module.modules())


def _rank(module: torch.nn.Module, stepped: set[int]) -> tuple[int, int]:
    """Prefer who holds most of what is trained, and of those the outermost."""
    held = sum(id(parameter) in stepped for parameter in module.parameters())
    return held, sum(1 for _ in module.modules())
