"""The rule ADP017, scaling-off-configuration.

## What it does
Finds LoRA layers whose scaling does not match their own alpha and rank, and adapters
whose configuration has a different alpha than their layers.

## Why is this bad?
The scaling is a plain number in the layer and not saved with the adapter. A layer that
was scaled by hand (an ablation, a weight for combining adapters, an evaluation that
raised half-way) learns with that number; after loading it is alpha / r again, and the
adapter is too strong or too weak by the difference. The same goes for an alpha set in
the configuration afterwards: the layers do not read it, but it is saved.

## Evidence
`scaling` of each active pair, measured with its norms, against alpha / r, or alpha /
sqrt(r) with rsLoRA, of the *layer* (so alpha_pattern and rank_pattern are considered);
whether it is rsLoRA the configuration says, which is what is saved. The threshold is a
relative difference of 1e-6. A warning where some pairs of an adapter differ, or all by
different factors; info where all its active pairs differ by one factor, as after
`set_scale` for the whole adapter. 0 is another rule's (ADP011).
*configuration*: `lora_alpha` of the configuration against the alpha of the layers,
where it has no alpha_pattern. A warning. Measured on peft 0.21.2: after
`model.peft_config["default"].lora_alpha = 64` the layers keep the scaling 2 of alpha 16
and r 8; saved and loaded they have 8.
By hand: `{n: (m.scaling, m.lora_alpha, m.r) for n, m in model.named_modules() if
hasattr(m, "lora_alpha")}`.

## What to try
1. `layer.set_scale(adapter, 1)` restores alpha / r; `unscale_layer()` undoes
   scale_layer.
2. *configuration*: set lora_alpha before get_peft_model, or restore its value.
3. For strengths that differ by layer: `alpha_pattern={"q_proj": 32}`, which is saved.
4. For an evaluation at a different strength: `with rescale_adapter_scale(model, 0.5):`.

## Known problems
Setting a different alpha before saving, to serve the adapter at a different strength,
is reported. A training step inside `rescale_adapter_scale` is info. AdaLoRA's scaling
has a different meaning and is not judged.

## References
- huggingface/peft: `peft.helpers.rescale_adapter_scale`, `LoraLayer.set_scale`
- NVIDIA/TensorRT-LLM#1668, vllm-project/vllm#6909 (a scaling that was not saved)
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.name_words import in_words
from ftlab.records.names import NameRecord
from ftlab.rules.reading.lora import expected_scaling, may_hold_lora
from ftlab.rules.reading.tensors import records_of, text_of
from ftlab.rules.rule import Rule, needs_column
from ftlab.rules.words import counted, number
from ftlab.runlog.run import Run

TOLERANCE = 1e-6
"""Relative difference from which a scaling is another number; float32 has 6e-8."""


class ScalingOffConfiguration(Rule):
    """Finds layers that were scaled by hand."""

    code = "ADP017"
    name = "scaling-off-configuration"
    since = "0.1.0"
    status = "stable"
    requires = (
        needs_column(
            "scaling",
            "the scaling of each LoRA layer",
            "watch a model with LoRA layers, with the standard probes",
            table="adapters",
        ),
    )

    def applies(self, run: Run) -> bool:
        """Tell whether there are LoRA pairs."""
        return may_hold_lora(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for all layers, and one for each configuration."""
        yield from self._configurations(run)
        matrix = run.matrix("scaling", "adapters").measured()
        if not len(matrix.steps):
            return
        pairs = records_of(run, matrix.ids, "adapters")
        factors: dict[int, float] = {}
        seen: list[int] = []
        active = [i for i, pair in enumerate(pairs) if pair.meta.get("active", True)]
        for column in active:
            wanted = _wanted(run, pairs[column])
            if not wanted:
                continue
            values = matrix.values[:, column] / wanted
            off = matrix.known[:, column] & (abs(values - 1) > TOLERANCE)
            off &= values != 0
            if off.any():
                rows = np.flatnonzero(off)
                factors[column] = float(values[rows[0]])
                seen += [int(rows[0]), int(rows[-1])]
        if factors:
            steps = int(matrix.steps[min(seen)]), int(matrix.steps[max(seen)])
            yield self._finding(pairs, active, factors, steps)

    def _configurations(self, run: Run) -> Iterator[Finding]:
        made: dict[str, set[float]] = {}
        for pair in run.names("adapters").values():
            alpha = float(pair.meta.get("alpha", 0))
            made.setdefault(text_of(pair, "adapter"), set()).add(alpha)
        for adapter, alphas in made.items():
            config = (run.facts.model.get("peft") or {}).get(adapter) or {}
            asked = config.get("lora_alpha")
            if asked is None or config.get("alpha_pattern") or len(alphas) > 1:
                continue
            (alpha,) = alphas
            if alpha > 0 and abs(asked / alpha - 1) > TOLERANCE:
                yield self._edited(run, adapter, float(asked), alpha)

    def _edited(self, run: Run, adapter: str, asked: float, alpha: float) -> Finding:
        return self.finding(
            Severity.WARNING,
            f"lora_alpha of adapter {adapter} is {number(asked)} in its configuration "
            f"but {number(alpha)} in its layers: it will be {number(asked / alpha)} "
            "times as strong after saving and loading",
            cause="The configuration was changed after the layers were created; they "
            "read alpha only once.",
            fix="Set lora_alpha in the LoraConfig before get_peft_model.",
            places=[Place("config", "lora_alpha"), Place("config", "scaling")],
            steps=(run.facts.step, run.facts.step),
            evidence={
                "reason": "configuration",
                "configured": asked,
                "in_layers": alpha,
                "threshold": TOLERANCE,
            },
            healthy="configuration and layers have the same alpha",
        )

    def _finding(
        self,
        pairs: Sequence[NameRecord],
        active: Sequence[int],
        factors: dict[int, float],
        steps: tuple[int, int],
    ) -> Finding:
        low, high = min(factors.values()), max(factors.values())
        alike = _alike(pairs, active, factors)
        names = [str(pairs[c].meta.get("module", pairs[c].name)) for c in factors]
        span = number(low) if math.isclose(low, high) else f"{low:.3g} to {high:.3g}"
        return self.finding(
            Severity.INFO if alike else Severity.WARNING,
            f"step {steps[0]}: the scaling of {len(factors)} of "
            f"{counted(len(active), 'LoRA pair')} is {span} times what alpha and r "
            f"give: {in_words(names)}",
            cause="Something changed the layer's scaling after it was created "
            "(set_scale, scale_layer, an assignment); the adapter's file does not "
            "store it.",
            fix="layer.set_scale(adapter, 1); for strengths that differ by layer use "
            "alpha_pattern.",
            places=[
                *(Place("module", name) for name in names),
                Place("config", "scaling"),
            ],
            steps=steps,
            evidence={
                "pairs": len(factors),
                "smallest_factor": low,
                "largest_factor": high,
                "threshold": TOLERANCE,
            },
            healthy="scaling is alpha / r, or alpha / sqrt(r) with rsLoRA",
        )


def _wanted(run: Run, pair: NameRecord) -> float:
    """Return the scaling that will be there after the adapter was saved and loaded.

    The configuration is what is saved: a layer's own flag of rsLoRA is not.
    """
    adapter = text_of(pair, "adapter")
    config = (run.facts.model.get("peft") or {}).get(adapter) or {}
    if config.get("use_rslora") is False and pair.meta.get("use_rslora"):
        return expected_scaling(replace(pair, meta={**pair.meta, "use_rslora": False}))
    return expected_scaling(pair)


def _alike(
    pairs: Sequence[NameRecord], active: Sequence[int], factors: dict[int, float]
) -> bool:
    """Tell whether every adapter that is off is so as a whole, by one factor."""
    off = {text_of(pairs[column], "adapter") for column in factors}
    for adapter in off:
        mine = [c for c in active if text_of(pairs[c], "adapter") == adapter]
        found = [factors.get(column, 1.0) for column in mine]
        if not math.isclose(min(found), max(found), rel_tol=1e-4):
            return False
    return True
