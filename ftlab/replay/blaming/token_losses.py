"""The losses of single tokens, caught where a step computes them.

Cross entropy ends in ``aten.nll_loss_forward`` or its twin with more dimensions; TRL
and label smoothing pick with ``aten.gather`` from a log-softmax, or from logits whose
log-sum-exp is taken off. The arguments of these operations are all that is needed, so
nothing is assumed about the model.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from ftlab.replay.torch_private import (
    LOG_SOFTMAX,
    TorchDispatchMode,
    graph_task,
    reserve_key,
    storage_key,
)
from ftlab.replay.tracing.traits import is_bookkeeping

aten = torch.ops.aten
NONE = -1
"""Stands for the target of a position that has no loss."""


@dataclass(slots=True, eq=False)
class TokenLosses:
    """One loss over many tokens.

    Attributes
    ----------
    values
        The loss of each position before any mean, NaN where there is none.
    targets
        The token that was to be predicted, `NONE` where there is none.
    rows
        Length of the first dimension of what the gradient comes back to.
    samples
        Which sample each of those rows belongs to; filled in by who knows the batch.
    reached
        Whether a gradient came back.
    """

    values: torch.Tensor
    targets: torch.Tensor
    rows: int
    samples: torch.Tensor
    reached: bool = False


class LossCatcher(TorchDispatchMode):
    """Catches every loss over tokens, and lets gradients back to chosen samples only.

    Parameters
    ----------
    insist
        Called before each op, see `Unwinding.insist`.

    Attributes
    ----------
    silent
        While true, operations pass unseen.
    only
        The sample that gradients come back to; ``None`` for all, `NONE` for no sample.
    losses
        In the order in which the step computed them.
    """

    def __init__(self, insist: Callable[[], bool]) -> None:
        super().__init__()
        self.silent = False
        self.only: int | None = None
        self.losses: list[TokenLosses] = []
        self._insist = insist
        self._soft: dict[int, tuple[int, torch.Tensor]] = {}
        self._picked: dict[int, TokenLosses] = {}
        self._reserved: list[Any] = []
        self._hooks: list[Any] = []

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Run ``func`` and keep what it was called with if it is a loss."""
        kwargs = kwargs or {}
        unseen = self._insist() or self.silent or is_bookkeeping(func)
        outputs = func(*args, **kwargs)
        if not unseen and graph_task() == -1 and torch.is_grad_enabled():
            self._look(func.overloadpacket, args, outputs)
        return outputs

    def __exit__(self, *exception: Any) -> None:
        """Take the hooks off the logits too."""
        super().__exit__(*exception)
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()

    def _look(self, op: Any, args: tuple[Any, ...], outputs: Any) -> None:
        if op is LOG_SOFTMAX:
            self._keep(outputs, -1, args[0])
        elif op is aten.neg and storage_key(args[0]) in self._soft:
            sign, logits = self._soft[storage_key(args[0])]
            self._keep(outputs, -sign, logits)
        elif op in (aten.nll_loss_forward, aten.nll_loss2d_forward):
            self._negative_log_likelihood(*args[:3], ignored=args[4])
        elif op is aten.gather:
            self._gather(*args[:3])
        elif op is aten.logsumexp:
            found = self._picked.pop(storage_key(args[0]), None)
            self.losses += [] if found is None else [found]

    def _keep(self, outputs: torch.Tensor, sign: int, logits: torch.Tensor) -> None:
        self._soft[storage_key(outputs)] = sign, logits
        self._reserved.append(reserve_key(outputs))

    def _negative_log_likelihood(
        self,
        logs: torch.Tensor,
        targets: torch.Tensor,
        weight: torch.Tensor | None,
        *,
        ignored: int,
    ) -> None:
        if not logs.requires_grad:
            return
        counts = (targets != ignored) & (targets >= 0)
        index = torch.where(counts, targets, 0)
        along = 1 if logs.dim() > 1 else 0
        values = -_pick(logs.detach(), index, along)
        values = values if weight is None else values * weight[index]
        _, logits = self._soft.get(storage_key(logs), (0, logs))
        # Label smoothing goes past `logs`, but not past the logits.
        same = logits.dim() > 0 and logits.shape[:1] == logs.shape[:1]
        shape = (logs.shape[0], -1) if logs.dim() > 2 else (-1,)
        self.losses.append(
            self._made(values, index, counts, logits if same else logs, shape)
        )

    def _gather(self, source: torch.Tensor, dim: int, index: torch.Tensor) -> None:
        last = source.dim() - 1
        if last not in (1, 2) or dim % source.dim() != last or index.shape[-1] != 1:
            return
        if not source.requires_grad or index.shape[:-1] != source.shape[:-1]:
            return
        known = self._soft.get(storage_key(source))
        picked = source.detach().gather(last, index).squeeze(-1).float()
        if known is not None:
            sign, logits = known
            # Label smoothing gives an ignored position the target 0; it takes it out
            # afterwards, which shows only where the label is known.
            every = torch.ones_like(index.squeeze(-1), dtype=torch.bool)
            shape = picked.shape[:2]
            made = self._made(sign * picked, index.squeeze(-1), every, logits, shape)
            self.losses.append(made)
        elif source.is_floating_point():
            values = source.detach().float().logsumexp(-1) - picked
            every = torch.ones_like(index.squeeze(-1), dtype=torch.bool)
            made = self._made(
                values, index.squeeze(-1), every, source, picked.shape[:2]
            )
            self._picked[storage_key(source)] = made
            self._reserved.append(reserve_key(source))

    def _made(
        self,
        values: torch.Tensor,
        targets: torch.Tensor,
        counts: torch.Tensor,
        masked: torch.Tensor,
        shape: Any,
    ) -> TokenLosses:
        values = torch.where(counts, values.float(), torch.nan).reshape(shape)
        targets = torch.where(counts, targets, NONE).reshape(shape)
        rows = masked.shape[0] if masked.dim() > 1 else 1
        made = TokenLosses(
            values.cpu(), targets.cpu(), rows, torch.zeros(rows, dtype=torch.long)
        )
        if masked.requires_grad:
            hook = masked.register_hook(lambda grad: self._mask(made, grad))
            self._hooks.append(hook)
        return made

    def _mask(self, made: TokenLosses, grad: torch.Tensor) -> torch.Tensor | None:
        if self.only is None:
            made.reached = True
            return None
        others = (made.samples != self.only).to(grad.device)
        return grad.masked_fill(others.view(-1, *[1] * (grad.dim() - 1)), 0)


def _pick(logs: torch.Tensor, index: torch.Tensor, along: int) -> torch.Tensor:
    return logs.gather(along, index.unsqueeze(along)).squeeze(along)
