"""Models that run elsewhere: of them log-probabilities and answers are known alone."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import torch
from torch.overrides import TorchFunctionMode

from ftlab.executions.pairs import evaluating
from ftlab.executions.wide import Wide
from ftlab.experiments.deployment.variants import Variant, explained
from ftlab.experiments.live import Live

OVER = 3.0
"""Times that the floor may be exceeded: another engine sums in another order, and
rounds where the live model does not."""
BLOCK = 32
"""Weights that share a scale in 4 or 8 bits (that of GGUF's Q4_0 and Q8_0)."""


class Seen(NamedTuple):
    """What is known of one token's successor.

    Attributes
    ----------
    row, position
        Whose.
    ids, logprobs
        Tokens, and their log-probabilities there, shape (known,).
    """

    row: int
    position: int
    ids: torch.Tensor
    logprobs: torch.Tensor


class Distance(NamedTuple):
    """How far a model elsewhere is from the live one.

    Attributes
    ----------
    apart
        The largest difference of log-probabilities, in nats.
    floor
        What rounding moves them on the live model, the same way.
    coarse
        What weights of 4 bits would move them.
    """

    apart: float
    floor: float
    coarse: float

    @property
    def equal(self) -> bool:
        """Whether rounding explains it."""
        return self.apart <= OVER * self.floor


def batch_of(rows: Sequence[Sequence[int]], model: Any) -> Mapping[str, torch.Tensor]:
    """Pad rows of tokens on the right."""
    longest = max(map(len, rows))
    device = next(model.parameters()).device
    ids = torch.zeros(len(rows), longest, dtype=torch.long, device=device)
    mask = torch.zeros_like(ids)
    for row, tokens in enumerate(rows):
        ids[row, : len(tokens)] = torch.tensor(list(tokens))
        mask[row, : len(tokens)] = 1
    return {"input_ids": ids, "attention_mask": mask}


def known_of(
    model: Any, rows: Sequence[Sequence[int]], seen: Sequence[Seen]
) -> torch.Tensor:
    """Return the live model's log-probabilities of what is seen, shape (all known,)."""
    batch = batch_of(rows, model)
    with evaluating(model):
        logits = Live(model, batch, None).logits(batch).float().log_softmax(-1)
    return torch.cat(
        [logits[each.row, each.position, each.ids.to(logits.device)] for each in seen]
    ).cpu()


def distance(
    model: Any, rows: Sequence[Sequence[int]], seen: Sequence[Seen], bits: int | None
) -> Distance:
    """Measure how far what is seen is from the live model, and from its rounding."""
    theirs = torch.cat([each.logprobs for each in seen])
    apart = float((known_of(model, rows, seen) - theirs).abs().max())
    with Wide(torch.float32):
        exact = known_of(model, rows, seen)
    floors = []
    for many in (bits or 16, 4):
        with rounding(model, many):
            moved = known_of(model, rows, seen)
        floors.append(float((moved - exact).abs().max()))
    return Distance(apart, *floors)


def why(
    model: Any, rows: Sequence[Sequence[int]], seen: Sequence[Seen]
) -> Variant | None:
    """Return what, done to the live model, gives what is seen."""
    theirs = torch.cat([each.logprobs for each in seen])
    return explained(model, lambda: known_of(model, rows, seen), theirs)


@contextlib.contextmanager
def rounding(model: Any, bits: int) -> Iterator[None]:
    """Compute with weights of 4 or 8 bits, or in bfloat16 for 16."""
    device = next(model.parameters()).device
    within: AbstractContextManager[Any] = (
        torch.autocast(device.type, torch.bfloat16) if bits == 16 else FewBits(bits)
    )
    with within:
        yield


class FewBits(TorchFunctionMode):
    """Lets linear layers compute with weights that are rounded by blocks.

    Examples
    --------
    >>> import torch
    >>> from ftlab.experiments.deployment.outside import FewBits
    >>> layer = torch.nn.Linear(64, 1, bias=False)
    >>> x = torch.ones(1, 64)
    >>> with torch.no_grad(), FewBits(4):
    ...     rounded = layer(x)
    >>> bool(0 < (rounded - layer(x)).abs() < 1)
    True
    """

    def __init__(self, bits: int) -> None:
        super().__init__()
        self._most = 2 ** (bits - 1) - 1

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run ``func``, with rounded weights if it is a linear layer."""
        if func is torch.nn.functional.linear and args[1].is_floating_point():
            args = (args[0], self.rounded(args[1]), *args[2:])
        return func(*args, **(kwargs or {}))

    def rounded(self, weight: torch.Tensor) -> torch.Tensor:
        """Return what is left of a weight."""
        if weight.numel() % BLOCK:
            return weight
        blocks = weight.reshape(-1, BLOCK)
        scale = blocks.abs().amax(1, keepdim=True).clamp(min=1e-30) / self._most
        return ((blocks / scale).round() * scale).reshape(weight.shape)
