"""GradScalers: what a step changes in them, and which overflows they handle."""

from typing import Any

import torch

COLLAPSED_SCALE = 1.0
"""Below it a scaler scales down: it has halved its first 65,536 more than 16 times."""


_CHANGED = ("_scale", "_init_scale", "_growth_tracker", "_per_optimizer_states")


class KeptScaler:
    """The state of one GradScaler at the start of a step."""

    def __init__(self, scaler: Any) -> None:
        self.scaler = scaler
        self._before = {
            name: _twin(value)
            for name, value in vars(scaler).items()
            if name in _CHANGED
        }

    @property
    def before(self) -> dict[str, Any]:
        """The private attributes that a step changes, as they were."""
        return dict(self._before)

    def restore(self) -> None:
        """Undo ``scale``, ``unscale_`` and ``update``."""
        optimizers = vars(self.scaler).get("_per_optimizer_states")
        vars(self.scaler).update({n: _twin(v) for n, v in self._before.items()})
        if optimizers is not None:
            # The defaultdict itself carries the factory of fresh states.
            kept = dict(vars(self.scaler)["_per_optimizer_states"])
            optimizers.clear()
            optimizers.update(kept)
            vars(self.scaler)["_per_optimizer_states"] = optimizers


def set_scale(scaler: Any, scale: float) -> None:
    """Let a scaler multiply with ``scale`` from now on."""
    scaler.load_state_dict(scaler.state_dict() | {"scale": scale})


def _twin(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, dict):
        return {key: _twin(item) for key, item in value.items()}
    return value


def handles_overflow(scalers: tuple[Any, ...]) -> bool:
    """Say whether a scaler is at work that skips steps with non-finite gradients."""
    working = [scaler for scaler in scalers if scaler.is_enabled()]
    return bool(working) and all(s.get_scale() >= COLLAPSED_SCALE for s in working)


def true_scale(scalers: tuple[Any, ...]) -> float:
    """Return by how much the gradients of scaled losses are too large."""
    return float(scalers[0].get_scale()) if scalers else 1.0
