"""What each block of a model is handed, without computing any of them.

`block_calls` runs the model's own forward with blocks that return what they are given.
Nothing behind the last block is computed: a private exception ends the forward there.
"""

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from ftlab.probes.attention.blocks import Stack


class AllSeen(BaseException):
    """Ends a forward when each block was called; passes ``except Exception``."""


@dataclass(slots=True)
class BlockCall:
    """One block, and the arguments that it was called with, by name."""

    stack: Stack
    number: int
    block: torch.nn.Module
    hidden: tuple[int, ...]
    arguments: dict[str, Any] = field(default_factory=dict)
    signature: inspect.Signature = field(init=False)

    def __post_init__(self) -> None:
        self.signature = inspect.signature(self.block.forward)


class _WrongShape(BaseException):
    """A block got what the one before it was not meant to return."""


_ANSWERS: tuple[Callable[[Any], Any], ...] = (
    lambda hidden: hidden,
    lambda hidden: (hidden,),
    lambda hidden: (hidden, None),
    lambda hidden: (hidden, None, None),
    lambda hidden: (hidden, None, None, None),
)
"""What blocks return: the hidden states, or a tuple that begins with them."""


def block_calls(stacks: list[Stack], forward: Callable[[], Any]) -> list[BlockCall]:
    """Call ``forward`` and return the calls of the blocks, in their order.

    Raises whatever ``forward`` raises before its last block.
    """
    error: Exception | None = None
    for answer in _ANSWERS:
        calls: list[BlockCall] = []
        try:
            with _listening(stacks, calls, answer):
                forward()
        except AllSeen:
            return calls
        except _WrongShape:
            continue
        except Exception as raised:
            if not calls:
                raise
            error = error or raised
            continue
        return calls
    if error is not None:
        raise error
    return []


@contextlib.contextmanager
def _listening(
    stacks: list[Stack], calls: list[BlockCall], answer: Callable[[Any], Any]
) -> Iterator[None]:
    """Replace the forward of every block, on the instance, until the end."""
    waiting = {id(block) for stack in stacks for block in stack.blocks}
    last: dict[str, Any] = {}
    missing = object()
    undo: list[tuple[torch.nn.Module, Any]] = []
    try:
        for stack in stacks:
            for number, block in enumerate(stack.blocks):
                heard = functools.partial(_hear, BlockCall(stack, number, block, ()))
                stand_in = functools.partial(heard, waiting, last, calls, answer)
                undo.append((block, vars(block).get("forward", missing)))
                vars(block)["forward"] = stand_in
        yield
    finally:
        for block, before in undo:
            del vars(block)["forward"]
            if before is not missing:
                vars(block)["forward"] = before


def _hear(
    call: BlockCall,
    waiting: set[int],
    last: dict[str, Any],
    calls: list[BlockCall],
    answer: Callable[[Any], Any],
    /,
    *given: Any,
    **named: Any,
) -> Any:
    """Take the place of a block's forward: note the arguments and hand them on."""
    hidden = given[0] if given else next(iter(named.values()), None)
    before = last.get(call.stack.path)
    if before is not None and hidden is not before:
        raise _WrongShape
    last[call.stack.path] = hidden
    call.hidden = tuple(getattr(hidden, "shape", ()))
    call.arguments = _bound(call.signature, given, named)
    calls.append(call)
    waiting.discard(id(call.block))
    if not waiting:
        raise AllSeen
    return answer(hidden)


def _bound(
    signature: inspect.Signature, given: tuple[Any, ...], named: dict[str, Any]
) -> dict[str, Any]:
    """Return all arguments by name, those of ``**kwargs`` among them."""
    try:
        bound = signature.bind_partial(*given, **named).arguments
    except TypeError:
        return dict(named)
    arguments: dict[str, Any] = {}
    for name, value in bound.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            arguments |= value
        elif kind is not inspect.Parameter.VAR_POSITIONAL:
            arguments[name] = value
    return arguments
