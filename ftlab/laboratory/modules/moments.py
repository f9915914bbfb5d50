"""What an optimizer will keep beside each weight, by its class and settings."""

import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch

from ftlab.laboratory.modules.storage import bytes_of

TORCHS = ("adamw_torch", "adamw_torch_fused", "sgd", "adagrad", "rmsprop")
"""Values of ``optim`` for those of torch, whose state has the weights' dtype."""

ADAMW = "AdamW's two moments"


class Moments(NamedTuple):
    """An optimizer's state in words, and its bytes; ``None``: not predicted."""

    name: str
    bytes: int | None


def arguments_of(trainer: Any) -> Any:
    """Return a trainer's TrainingArguments; ``None`` where it has none."""
    kind = getattr(sys.modules.get("transformers"), "TrainingArguments", None)
    args = getattr(trainer, "args", None)
    return args if isinstance(kind, type) and isinstance(args, kind) else None


def moments_of(trainer: Any, args: Any, learns: int) -> Moments:
    """Predict the state of a trainer's optimizer, of AdamW's where there is none."""
    if args is None:
        return Moments(ADAMW, 2 * learns)
    made = getattr(trainer, "optimizer", None)
    made = getattr(made, "optimizer", made)  # within accelerate's
    if made is not None:
        groups = (p for group in made.param_groups for p in group["params"])
        held = sum(bytes_of(p) for p in groups if p.requires_grad)
        return _state(type(made), made.defaults, held)
    chosen = getattr(trainer, "optimizer_cls_and_kwargs", None)
    optim = str(getattr(args.optim, "value", args.optim))
    if chosen is None and optim not in TORCHS:
        return Moments(f"the state of {optim}", None)
    found = sys.modules["transformers"].Trainer.get_optimizer_cls_and_kwargs
    kind, settings = chosen or found(args)
    return _state(kind, settings, learns)


def _state(kind: type, settings: Mapping[str, Any], held: int) -> Moments:
    """Count the tensors that torch's optimizers keep of each weight, in its dtype."""
    get = settings.get
    averages = bool(get("momentum"))
    counts: dict[type, int] = {
        torch.optim.AdamW: 2 + bool(get("amsgrad")),
        torch.optim.Adam: 2 + bool(get("amsgrad")),
        torch.optim.SGD: averages,
        torch.optim.Adagrad: 1,
        torch.optim.RMSprop: 1 + averages + bool(get("centered")),
    }
    name = f"the state of {kind.__name__}"
    if kind not in counts:
        return Moments(name, None)
    adamw = kind is torch.optim.AdamW and not get("amsgrad")
    return Moments(ADAMW if adamw else name, counts[kind] * held)
