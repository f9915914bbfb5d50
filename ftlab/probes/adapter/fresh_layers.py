"""Layers of PEFT that should begin as the layer under them, by their own default.

PEFT's methods have a field for how they begin. Where the class says True, a fresh
adapter changes nothing, and False, which is there for tests, draws all of it. Methods
whose default is a random start (FourierFT, C3A) are left out, as are prompts.
"""

import dataclasses
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from ftlab.records.attributes import attribute_of

FIELDS = ("init_weights", "init_lora_weights")
"""How the configurations call their start; IA3's vectors are measured by themselves."""

_FLOATS = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
_PLAIN = (
    torch.nn.Linear,
    torch.nn.Embedding,
    torch.nn.Conv1d,
    torch.nn.Conv2d,
    torch.nn.Conv3d,
)


@dataclass(frozen=True, slots=True)
class FreshLayer:
    """A layer with one adapter, active and trained.

    Attributes
    ----------
    path
        Of the layer, as the model names it.
    base
        The layer under it.
    tensors
        What is trained of the adapter, by name within the layer.
    method, field, asked, rank
        The kind of adapter, the name of its field for the start, what it says, and
        its rank (0 where it has none).
    """

    path: str
    module: torch.nn.Module
    base: torch.nn.Module
    adapter: str
    tensors: dict[str, torch.nn.Parameter]
    method: str
    field: str
    asked: bool
    rank: int

    def of_base(self, given: torch.Tensor) -> torch.Tensor:
        """Return what the layer under the adapter gives; its hooks are not called."""
        weight = self.base.get_parameter("weight")
        if given.is_floating_point():
            given = given.to(weight.dtype)
        output: torch.Tensor = type(self.base).forward(self.base, given)
        return output


def fresh_layers(
    modules: Iterable[tuple[str, torch.nn.Module]],
) -> Iterator[FreshLayer]:
    """Yield the layers whose one active adapter should change nothing at first."""
    if "peft" not in sys.modules:
        return
    from peft.tuners.tuners_utils import BaseTunerLayer

    known = list(modules)
    configs: dict[str, Any] = {}
    for _, module in known:
        held = attribute_of(module, "peft_config")
        configs |= held if isinstance(held, dict) else {}
    for path, module in known:
        if isinstance(module, BaseTunerLayer):
            found = _fresh(path, module, configs)
            if found is not None:
                yield found


def _fresh(path: str, module: Any, configs: dict[str, Any]) -> FreshLayer | None:
    active = list(module.active_adapters)
    if len(active) != 1 or module.disable_adapters or module.merged:
        return None
    config, base = configs.get(active[0]), module.get_base_layer()
    field = _field(config)
    if not field or not _is_plain(base):
        return None
    inside = {id(parameter) for parameter in base.parameters()}
    tensors = {
        name: parameter
        for name, parameter in module.named_parameters()
        if id(parameter) not in inside and parameter.requires_grad
    }
    if not tensors or any(each.is_meta for each in tensors.values()):
        return None
    kind, rank = getattr(config, "peft_type", ""), getattr(config, "r", 0)
    return FreshLayer(
        path,
        module,
        base,
        active[0],
        tensors,
        str(getattr(kind, "value", kind)),
        field,
        bool(getattr(config, field)),
        rank if isinstance(rank, int) else 0,
    )


def _field(config: Any) -> str:
    """Name the field for the start, where its default is to change nothing."""
    if not dataclasses.is_dataclass(config):
        return ""
    defaults = {field.name: field.default for field in dataclasses.fields(config)}
    for name in FIELDS:
        asked = getattr(config, name, None)
        # B of LoRA that is 0 is seen for less, and other starts change the base.
        wanted = (False,) if name == "init_lora_weights" else (True, False)
        if defaults.get(name) is True and any(asked is each for each in wanted):
            return name
    return ""


def _is_plain(base: torch.nn.Module) -> bool:
    """Tell a layer that can be computed once more without any trace."""
    if type(base) not in _PLAIN and type(base).__name__ != "Conv1D":
        return False
    if attribute_of(base, "max_norm") is not None:  # it rescales its own weight
        return False
    # A parametrised weight is computed at each look, and no parameter.
    weight = dict(base.named_parameters(recurse=False)).get("weight")
    if weight is None or weight.is_meta or weight.dtype not in _FLOATS:
        return False
    return type(weight.data) is torch.Tensor
