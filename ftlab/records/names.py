"""The names of what is measured: one row per parameter, module or adapter pair."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ftlab.records.printable import printable

NameKind = Literal["param", "module", "adapter", "sample", "run"]


@dataclass(frozen=True, slots=True)
class NameRecord:
    """The identity of one row of a block table.

    A name may be written again with the same ``id`` (it was frozen, moved to another
    optimizer group): the latest one holds from ``since_step`` on.

    Attributes
    ----------
    id
        Integer, unique within the run over all tables.
    table
        The block table whose rows it names: ``"tensors"``, ``"adapters"``, ...
    name
        As ``named_parameters()`` of the model that was passed gives it, without
        ``module.``, ``_orig_mod.`` and ``_fsdp_wrapped_module.``
    layer
        ``"layers.3"`` or the top-level module outside the blocks: a layer view's row.
    meta
        Facts that views and rules need: ``role`` (``"lora_A"``, ``"lora_B"``,
        ``"lora_magnitude"``, ``"modules_to_save"``, ``"weight"``), ``adapter``,
        ``module``, ``group`` (index over all groups, -1 when in none), ``aliases``...
    """

    id: int
    table: str
    name: str
    kind: NameKind
    layer: str
    shape: tuple[int, ...] = ()
    dtype: str = ""
    trainable: bool = True
    since_step: int = 0
    meta: Mapping[str, str | int | float | bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make safe to show what was named by others, in a model or in a log."""
        object.__setattr__(self, "name", printable(self.name))
        object.__setattr__(self, "layer", printable(self.layer))
        if any(isinstance(v, str) and not v.isprintable() for v in self.meta.values()):
            safe = {
                key: printable(value) if isinstance(value, str) else value
                for key, value in self.meta.items()
            }
            object.__setattr__(self, "meta", safe)
