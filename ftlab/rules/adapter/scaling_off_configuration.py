"""The rule ADP017, scaling-off-configuration.

## What it does
Finds LoRA layers whose scaling does not match their own alpha and rank, or is
multiplied by the same factor again and again, and adapters whose configuration has a
different alpha than their layers.

## Why is this bad?
The scaling is a plain number in the layer and not saved with the adapter. A layer that
was scaled by hand (an ablation, a weight for combining adapters, an evaluation that
raised half-way) learns with that number; after loading it is alpha / r again, and the
adapter is too strong or too weak by the difference. The same goes for an alpha set in
the configuration afterwards: the layers do not read it, but it is saved.
`scale_layer(c)` multiplies the current scaling, and `unscale_layer()` undoes it. Where
it is called in each step, or at each evaluation, and not undone, the adapter is c^n
times as strong after n calls: it takes over, or fades out.

## Evidence
`scaling` of each active pair, measured with its norms.
- *layer*: against alpha / r, or alpha / sqrt(r) with rsLoRA, of the layer (so
  alpha_pattern and rank_pattern are considered); whether it is rsLoRA the configuration
  says, which is what is saved. The threshold is a relative difference of 1e-6. A
  warning where some pairs of an adapter differ, or all by different factors; info where
  all its active pairs differ by one factor, as after `set_scale` for the whole adapter.
  0 is another rule's (ADP011).
- *drift*: it has changed between 4 measurements at least, always in one direction, and
  each time by a whole power of the same factor (to 1 % of its logarithm), beyond a
  relative 1e-3, until the last 2 measurements at least; and it was nowhere constant for
  more than 4 measurements in between. There is no threshold on how far it has come. One
  change, a schedule that goes back, and a linear or cosine ramp are no drift.
- *configuration*: `lora_alpha` of the configuration against the alpha of the layers,
  where it has no alpha_pattern. A warning.

Measured on peft 0.21.2: after `model.peft_config["default"].lora_alpha = 64` the layers
keep the scaling 2 of alpha 16 and r 8; saved and loaded they have 8. With
`scale_layer(1.05)` before each step it goes from 2 to 5.3 in 20 steps.
By hand: `{n: (m.scaling, m.lora_alpha, m.r) for n, m in model.named_modules() if
hasattr(m, "lora_alpha")}`.

## What to try
1. `layer.set_scale(adapter, 1)` restores alpha / r; `unscale_layer()` undoes
   scale_layer, in `finally`.
2. *configuration*: set lora_alpha before get_peft_model, or restore its value.
3. For strengths that differ by layer: `alpha_pattern={"q_proj": 32}`, which is saved.
4. For an evaluation at a different strength: `with rescale_adapter_scale(model, 0.5):`.

## Known problems
Setting a different alpha before saving, to serve the adapter at a different strength,
is reported. A training step inside `rescale_adapter_scale` is info. AdaLoRA's scaling
has a different meaning and is not judged. Annealing the strength by a constant factor
on purpose is reported. Scaling is measured every 16 steps: a drift shows after 64.

## References
- huggingface/peft: `peft.helpers.rescale_adapter_scale`, `LoraLayer.set_scale`,
  `LoraLayer.scale_layer`
- NVIDIA/TensorRT-LLM#1668, vllm-project/vllm#6909 (a scaling that was not saved)
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ftlab.records.names import NameRecord
from ftlab.rules.reading.lora import expected_scaling, needs_pairs
from ftlab.rules.reading.tensors import records_of, text_of
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity
from ftlab.rules.words import at_steps, counted, in_words, number
from ftlab.runlog.matrix import Matrix

TOLERANCE = 1e-6
"""Relative difference from which a scaling is another number; float32 has 6e-8."""


CHANGES = 4
"""Measurements between which it must have changed."""

APART = 1e-3
"""Relative change from which it is another number."""

LATELY = 2
"""Measurements within which it must have changed at last."""

LIKE = 1e-2
"""How far the logarithms of two changes may be from a whole multiple."""

Values = NDArray[np.float64]


class ScalingOffConfiguration(Rule):
    """Finds layers that were scaled by hand, once or again and again."""

    code = "ADP017"
    status = "stable"
    requires = needs_pairs("scaling", "the scaling of each LoRA layer")

    def check(self, run: Run) -> Results:
        """Yield one finding for each configuration, one for drifts, one for layers."""
        yield from self._configurations(run)
        matrix = run.matrix("scaling", "adapters").measured()
        if not len(matrix.steps):
            return
        pairs = records_of(run, matrix.ids, "adapters")
        active = [i for i, pair in enumerate(pairs) if pair.meta.get("active", True)]
        drifting = [c for c in active if _drifts(_known(matrix, c))]
        if drifting:
            yield self._drift([pairs[c] for c in drifting], matrix, drifting[0])
        steady = [column for column in active if column not in drifting]
        factors: dict[int, float] = {}
        seen: list[int] = []
        for column in steady:
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
            yield self._finding(pairs, steady, factors, steps)

    def _drift(
        self, pairs: Sequence[NameRecord], matrix: Matrix, column: int
    ) -> Finding:
        names = [str(pair.meta.get("module", pair.name)) for pair in pairs]
        rows = np.flatnonzero(matrix.known[:, column])
        first, last = int(matrix.steps[rows[0]]), int(matrix.steps[rows[-1]])
        before, now = (float(_known(matrix, column)[end]) for end in (0, -1))
        who = counted(len(names), "LoRA pair")
        grown = abs(now) > abs(before)
        return self.warning(
            f"{at_steps(first, last)}: the scaling of {who} went from {number(before)} "
            f"to {number(now)}, by the same factor each time: {in_words(names)}",
            cause="The scaling is multiplied in each step or at each evaluation and "
            "not restored: scale_layer without unscale_layer, or an assignment. The "
            f"adapter {'takes over' if grown else 'fades out'}.",
            fix="unscale_layer() after scale_layer(), in a finally block, or with "
            "rescale_adapter_scale(model, c): around the work at that strength.",
            places={"module": names, "config": "scaling"},
            steps=(first, last),
            reason="drift",
            evidence={
                "pairs": len(names),
                "first": before,
                "last": now,
                "threshold": CHANGES,
            },
            healthy="scaling is constant while an adapter is trained",
        )

    def _configurations(self, run: Run) -> Results:
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
        return self.warning(
            f"lora_alpha of adapter {adapter} is {number(asked)} in its configuration "
            f"but {number(alpha)} in its layers: it will be {number(asked / alpha)} "
            "times as strong after saving and loading",
            cause="The configuration was changed after the layers were created; they "
            "read alpha only once.",
            fix="Set lora_alpha in the LoraConfig before get_peft_model.",
            places={"config": ["lora_alpha", "scaling"]},
            steps=(run.facts.step, run.facts.step),
            reason="configuration",
            evidence={"configured": asked, "in_layers": alpha, "threshold": TOLERANCE},
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
            places={"module": names, "config": "scaling"},
            steps=steps,
            reason="layer",
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


def _known(matrix: Matrix, column: int) -> Values:
    rows = matrix.known[:, column]
    return np.asarray(matrix.values[rows, column], np.float64)


def _drifts(values: Values) -> bool:
    """Tell whether a scaling goes by powers of one factor, in one direction."""
    if len(values) <= CHANGES or not (values * values[0] > 0).all():
        return False
    ratios = np.diff(np.log(np.abs(values)))
    rows = np.flatnonzero(np.abs(ratios) > APART)
    if len(rows) < CHANGES or len(np.unique(np.sign(ratios[rows]))) > 1:
        return False
    # it goes on, and never rested for long: not some stages of a schedule
    rests = np.diff(np.append(rows, len(ratios)))
    powers = np.abs(ratios[rows]) / np.abs(ratios[rows]).min()
    whole = np.abs(powers - powers.round()) <= LIKE * powers
    return bool(whole.all() and rests.max() <= CHANGES and rests[-1] <= LATELY)
