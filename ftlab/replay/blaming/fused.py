"""Losses of models that give log-probabilities of the labels instead of logits.

TRL's trainers put a fused head on the model: projection, log-softmax and pick are one
function with its own backward, whose inside no operation shows. What it puts out is all
that is needed: ``log_probs`` of each label, and ``label_mask`` where there is one.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch.nn.modules.module import register_module_forward_hook

from ftlab.records.handle import CallbackHandle, Handle
from ftlab.replay.blaming.token_losses import LossCatcher
from ftlab.replay.torch_private import forget_keywords


def catch_fused(catcher: LossCatcher) -> Handle:
    """Tell ``catcher`` of each such output, until the handle is removed."""
    seen: list[torch.Tensor] = []

    def look(_module: Any, _args: Any, kwargs: Mapping[str, Any], output: Any) -> None:
        logs = getattr(output, "log_probs", None)
        mask = getattr(output, "label_mask", None)
        if not isinstance(logs, torch.Tensor) or not isinstance(mask, torch.Tensor):
            return
        if any(each is mask for each in seen) or not logs.requires_grad:
            return  # a wrapper passes on what was seen, or no gradient comes through
        targets = _targets(kwargs, logs)
        if targets is not None and logs.dim() == 2:
            seen.append(mask)
            catcher.pick(logs, targets, mask[:, -targets.shape[1] :])

    hook = register_module_forward_hook(look, with_kwargs=True)

    def remove() -> None:
        hook.remove()
        forget_keywords(hook)

    return CallbackHandle(remove)


def hidden_in(tensors: Iterable[Any]) -> tuple[str, ...]:
    """Name the functions with their own backward that ``tensors`` were made by.

    Examples
    --------
    >>> import torch
    >>> from ftlab.replay.blaming.fused import hidden_in
    >>> hidden_in([torch.ones(2, requires_grad=True).sum()])
    ()
    """
    waiting = [getattr(tensor, "grad_fn", None) for tensor in tensors]
    seen: set[Any] = set()
    names: dict[str, None] = {}
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if isinstance(node, torch.autograd.function.BackwardCFunction):
            names[type(node).__name__.removesuffix("Backward")] = None
        waiting += [before for before, _ in node.next_functions]
    return tuple(names)


def _targets(kwargs: Mapping[str, Any], logs: torch.Tensor) -> torch.Tensor | None:
    """Return the labels that the log-probabilities are of, ``None`` if not passed.

    Prompt learning puts virtual tokens before the labels: these have no label.
    """
    shifted, labels = kwargs.get("shift_labels"), kwargs.get("labels")
    if isinstance(shifted, torch.Tensor):
        labels = shifted
    elif isinstance(labels, torch.Tensor):
        labels = labels[:, 1:]
    fits = isinstance(labels, torch.Tensor) and labels.shape[1] <= logs.shape[1]
    return labels if fits else None
