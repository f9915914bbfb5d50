"""The losses of single tokens, caught where a step computes them.

Cross entropy ends in ``aten.nll_loss_forward`` or its twin with more dimensions; TRL
and label smoothing pick with ``aten.gather`` from a log-softmax, or from logits whose
log-sum-exp is taken off. The arguments of these operations are all that is needed, so
nothing is assumed about the model.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
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
    weights
        What each position counts for in the loss, where the step shows that.
    """

    values: torch.Tensor
    targets: torch.Tensor
    rows: int
    samples: torch.Tensor
    reached: bool = False
    weights: torch.Tensor | None = None

    def weighs(self) -> bool:
        """Whether the step counts some tokens more than others."""
        if self.weights is None:
            return False
        weights = self.weights[self.targets.reshape(self.weights.shape) != NONE]
        return weights.numel() > 0 and not bool(
            torch.isclose(weights, weights[0], rtol=1e-3, atol=0.0).all()
        )


@dataclass(slots=True, eq=False)
class MeanLoss:
    """A mean over single losses, such as those of pairs of answers.

    Attributes
    ----------
    values
        The single losses.
    weight
        What came back to the mean in backward; ``None`` when nothing did.
    """

    values: torch.Tensor
    weight: float | None = None


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
        The samples that gradients come back to; ``None`` for all.
    losses, means
        In the order in which the step computed them.
    """

    def __init__(self, insist: Callable[[], bool]) -> None:
        super().__init__()
        self.silent = False
        self.only: frozenset[int] | None = None
        self.losses: list[TokenLosses] = []
        self.means: list[MeanLoss] = []
        self._insist = insist
        self._soft: dict[int, tuple[int, torch.Tensor]] = {}
        self._picked: dict[int, TokenLosses] = {}
        self._mean_of: dict[int, MeanLoss] = {}
        self._reserved: list[Any] = []
        self._hooks: list[Any] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
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

    def pick(
        self, logs: torch.Tensor, targets: torch.Tensor, mask: torch.Tensor
    ) -> None:
        """Take log-probabilities of labels, of which the last ones have a ``mask``."""
        if self.silent or graph_task() != -1:
            return
        values = -logs.detach()[:, -targets.shape[1] :]
        counts = mask.to(torch.bool) & (targets >= 0)
        index = torch.where(counts, targets, 0)
        made = self._made(values, index, counts, logs, values.shape, weights=True)
        self.losses.append(made)

    def follow(self, tensors: Iterable[Any]) -> None:
        """Hear what comes back in backward to a mean that is among ``tensors``."""
        for tensor in tensors if self._mean_of else ():
            if isinstance(tensor, torch.Tensor) and tensor.requires_grad:
                made = self._mean_of.pop(storage_key(tensor), None)
                if made is not None:
                    self._hooks.append(tensor.register_hook(partial(self._see, made)))

    def _see(self, made: MeanLoss, gradient: torch.Tensor) -> None:
        if self.only is None:
            made.weight = float(gradient)

    def _look(self, op: Any, args: tuple[Any, ...], outputs: Any) -> None:
        self.follow(args)
        if op is LOG_SOFTMAX:
            self._keep(outputs, -1, args[0])
        elif op is aten.neg and storage_key(args[0]) in self._soft:
            sign, logits = self._soft[storage_key(args[0])]
            self._keep(outputs, -sign, logits)
        elif op in (aten.nll_loss_forward, aten.nll_loss2d_forward):
            self._negative_log_likelihood(*args[:3], ignored=args[4])
        elif op is aten.gather:
            self._gather(*args[:3])
        elif op is aten.mean:
            self._mean(outputs, *args)
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

    def _mean(self, mean: torch.Tensor, values: torch.Tensor, *along: Any) -> None:
        if along or values.dim() != 1 or not values.requires_grad:
            return
        made = MeanLoss(values.detach().cpu())
        self.means.append(made)
        self._mean_of[storage_key(mean)] = made
        self._reserved.append(reserve_key(mean))

    def _made(
        self,
        values: torch.Tensor,
        targets: torch.Tensor,
        counts: torch.Tensor,
        masked: torch.Tensor,
        shape: Any,
        *,
        weights: bool = False,
    ) -> TokenLosses:
        values = torch.where(counts, values.float(), torch.nan).reshape(shape)
        targets = torch.where(counts, targets, NONE).reshape(shape)
        rows = masked.shape[0] if masked.dim() > 1 else 1
        made = TokenLosses(
            values.cpu(), targets.cpu(), rows, torch.zeros(rows, dtype=torch.long)
        )
        if masked.requires_grad:
            hook = masked.register_hook(lambda grad: self._mask(made, grad, weights))
            self._hooks.append(hook)
        return made

    def _mask(
        self, made: TokenLosses, grad: torch.Tensor, weights: bool
    ) -> torch.Tensor | None:
        if self.only is None:
            made.reached = True
            if weights:
                last = made.values.shape[-1]
                made.weights = -grad.detach()[:, -last:].float().cpu()
            return None
        chosen = torch.tensor(sorted(self.only), dtype=torch.long)
        others = ~torch.isin(made.samples, chosen).to(grad.device)
        return grad.masked_fill(others.view(-1, *[1] * (grad.dim() - 1)), 0)


def _pick(logs: torch.Tensor, index: torch.Tensor, along: int) -> torch.Tensor:
    return logs.gather(along, index.unsqueeze(along)).squeeze(along)
