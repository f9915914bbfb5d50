"""Adapters of any PEFT method that begin with a random part in place of nothing."""

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from ftlab.records.names import NameRecord
from ftlab.rules.reading.saving import adapter_file, start
from ftlab.rules.reading.tensors import records_of, text_of
from ftlab.rules.reasons.computed_start import ERRORS
from ftlab.runlog.run import Run

APART = 0.02
"""Relative distance of outputs above which they are others."""


CAUSES = {
    "asked": (
        "{setting}=False makes the whole adapter random; it is meant for tests.",
        "{setting}=True.",
        "{setting}",
    ),
    "odd-rank": (
        "{method} starts without effect through pairs of vectors that cancel; with an "
        "odd r one is left over, and PEFT makes all of them random.",
        "Use an even r.",
        "r",
    ),
    "drawn-again": (
        "{setting}=True, but the tensors are random all the same: an initialisation "
        "was run over the model after get_peft_model.",
        "Run it before get_peft_model, or skip the adapter's tensors.",
        "{setting}",
    ),
}
"""By reason: the cause, the fix, and the setting that it is about."""


@dataclass(slots=True)
class Drawn:
    """The layers of one adapter, all of whose tensors are as they were drawn.

    Attributes
    ----------
    method, setting
        The kind of adapter, and the name of its field for the start.
    reason
        ``"asked"``: the field says False. ``"odd-rank"``: HRA cannot pair its vectors.
        ``"drawn-again"``: it says True, and something has drawn the tensors since.
    furthest
        The largest distance of a layer's output from its base's.
    """

    method: str
    setting: str
    reason: str
    furthest: float = 0.0
    layers: list[NameRecord] = field(default_factory=list)

    @property
    def modules(self) -> list[str]:
        """The layers by name."""
        return [layer.name.rpartition(" [")[0] for layer in self.layers]

    @property
    def tensors(self) -> list[str]:
        """The trained tensors of the layers."""
        return [
            name
            for layer in self.layers
            for name in text_of(layer, "tensors").split(",")
            if name
        ]


def drawn_adapters(run: Run) -> dict[str, Drawn]:
    """Return by name the adapters that change the model and are as they were drawn."""
    if "off_law" not in run.columns("drawn") or _is_continued(run):
        return {}
    off = run.matrix("off_start", "drawn")
    any_law, uniform = (run.matrix(c, "drawn") for c in ("off_law", "off_uniform"))
    found: dict[str, Drawn] = {}
    fits: dict[str, bool] = defaultdict(lambda: True)
    for column, layer in enumerate(records_of(run, off.ids, "drawn")):
        adapter, asked = text_of(layer, "adapter"), bool(layer.meta.get("asked"))
        # What begins at nothing and is trained passes normal laws on its way.
        errors = (uniform if asked else any_law).values[0, column]
        fits[adapter] &= bool(errors <= ERRORS)
        distance = float(off.values[0, column])
        if np.isfinite(distance) and distance > APART:
            drawn = found.setdefault(adapter, _begun(layer))
            drawn.layers.append(layer)
            drawn.furthest = max(drawn.furthest, distance)
    return {adapter: drawn for adapter, drawn in found.items() if fits[adapter]}


def _is_continued(run: Run) -> bool:
    """Tell a run that goes on with what was loaded."""
    return bool(adapter_file(run)) or any(start(run).get("optimizer_states") or ())


def _begun(layer: NameRecord) -> Drawn:
    method, rank = text_of(layer, "method"), int(layer.meta.get("rank", 0))
    if not layer.meta.get("asked"):
        reason = "asked"
    else:
        reason = "odd-rank" if method == "HRA" and rank % 2 else "drawn-again"
    return Drawn(method, text_of(layer, "field"), reason)
