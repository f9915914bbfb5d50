"""The rule MOD001, weights-packed-for-inference.

## What it does
Finds 4-bit weights that bitsandbytes has packed for its CPU inference kernel and that
are then used in training, merged into or saved.

## Why is this bad?
On a CPU with AVX512-BF16 the first forward in eval mode packs every 4-bit weight
permanently. The kernel that reads packed weights (`gemv_4bit`) has no backward:
gradients end at every 4-bit layer from then on. PEFT's merge reads the packed bytes as
if they were not packed, and the merged model outputs noise. `state_dict()` unpacks the
bytes and leaves the scales transposed, in memory and in the saved file.

## Evidence
`quant_state.packing_format_for_cpu` of each 4-bit weight, read at training forwards and
before merges; and unpacked weights whose `quant_state.absmax` still has two dimensions.
There is no threshold. Weights that will be packed at the first evaluation are reported
as info.
Measured with bitsandbytes 0.50.2, a Llama of width 128 and NF4: after one evaluation 4
of 6 LoRA tensors have no gradient; merging an adapter of zeros changes the logits by
117 % (0 without packing); after `state_dict()` the weights are off by 25 % (0.15 %
with double quantisation, whose scales are transposed back).

## What to try
1. Before the first evaluation: `for m in model.modules(): if hasattr(m,
   "support_avx512bf16_for_cpu"): m.support_avx512bf16_for_cpu = False`.
2. Packed weights stay packed: load the base again, then the adapter.
3. `bnb_4bit_use_double_quant=True` keeps `state_dict()` correct, but not the rest.
By hand: `getattr(layer.weight.quant_state, "packing_format_for_cpu", False)`, and
`layer.weight.quant_state.absmax.shape` after `model.state_dict()`.

## Known problems
With the package `kernels` installed bitsandbytes may take a different path on the CPU;
that was not measured.

## References
- bitsandbytes 0.50.2: `nn/modules.py` (Linear4bit.forward), `functional.py`
  (`_convert_weight_packed_for_cpu` and its inverse), `autograd/_functions.py`
- peft 0.21.2: `utils/integrations.py` (`dequantize_bnb_weight`)
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ftlab.rules.reading.needs import needs_model_facts
from ftlab.rules.reading.tensors import text_of
from ftlab.rules.rule import Finding, Place, Results, Rule, Run
from ftlab.rules.words import at_steps, counted, in_words

FIX = (
    "Set support_avx512bf16_for_cpu = False on every Linear4bit before the first "
    "evaluation; weights that are already packed have to be loaded again."
)
CAUSE = (
    "A forward in eval mode on this CPU permanently packed the 4-bit weights for "
    "inference. "
)
WHAT: Mapping[str, tuple[str, str]] = {
    "trained": (
        "are used packed in a training forward",
        "The kernel that reads them, gemv_4bit, has no backward: no gradient passes "
        "through these layers.",
    ),
    "merged": (
        "were packed when an adapter was merged into them",
        "PEFT reads the packed bytes as if they were not packed: the merged weights "
        "are noise.",
    ),
    "saved": (
        "have scales that belong to other blocks",
        "state_dict() unpacked the bytes and left the scales transposed: weights are "
        "wrong from then on, in memory and in the saved file.",
    ),
}


class WeightsPackedForInference(Rule):
    """Finds packed 4-bit weights that are trained through, merged into or saved."""

    code = "MOD001"
    status = "stable"
    requires = needs_model_facts

    def applies(self, run: Run) -> bool:
        """Leave models without 4-bit weights out."""
        model = run.facts.model
        return not model or bool(model.get("four_bit"))

    def check(self, run: Run) -> Results:
        """Yield a finding per kind of use."""
        facts = run.facts.model["four_bit"]
        used = _used(run)
        used["saved"] = list(dict.fromkeys(used["saved"] + facts.get("mixed_up", [])))
        for what, layers in used.items():
            if layers:
                yield self._finding(run, what, layers)
        if not any(used.values()):
            yield from self._warning(run, facts)

    def _finding(self, run: Run, what: str, layers: Sequence[str]) -> Finding:
        said, why = WHAT[what]
        steps = _steps(run, what)
        return self.error(
            f"{at_steps(*steps)}: {counted(len(layers), '4-bit weight')} {said}: "
            f"{in_words(layers)}",
            cause=CAUSE + why,
            fix=FIX,
            places=[*(Place("module", name) for name in layers), *_further(run, what)],
            steps=steps,
            reason=what,
            evidence={"layers": len(layers), "threshold": 0},
            healthy="no weight is packed when it is trained, merged into or saved",
        )

    def _warning(self, run: Run, facts: Mapping[str, Any]) -> Results:
        packable = facts.get("packable", [])
        if not packable:
            return
        step = max(run.last_step, 0)
        yield self.note(
            f"the first forward in eval mode will pack "
            f"{counted(len(packable), '4-bit weight')}: {in_words(packable)}",
            cause="This CPU has AVX512-BF16, and bitsandbytes packs 4-bit weights for "
            "it. Training, merging and saving fail after that.",
            fix=FIX,
            places={"module": packable, "config": "support_avx512bf16_for_cpu"},
            steps=(step, step),
            reason="packable",
            evidence={"layers": len(packable), "threshold": 0},
            healthy="support_avx512bf16_for_cpu is False where a model is trained",
        )


def _used(run: Run) -> dict[str, list[str]]:
    """List the layers by what was done with them while they were packed."""
    found: dict[str, list[str]] = {"trained": [], "merged": [], "saved": []}
    for record in run.names("four_bit").values():
        kind = found.get(text_of(record, "what"))
        if kind is not None:
            kind.append(text_of(record, "module"))
    return found


def _steps(run: Run, what: str) -> tuple[int, int]:
    since = [
        record.since_step
        for record in run.names("four_bit").values()
        if text_of(record, "what") == what
    ]
    last = max(run.last_step, 0)
    return min([*since, last]), last


def _further(run: Run, what: str) -> list[Place]:
    """Name the call and the setting besides the layers."""
    if what == "trained":
        return [Place("op", "gemv_4bit"), Place("config", "packing_format_for_cpu")]
    if what == "saved":
        return [Place("call", "state_dict"), Place("config", "quant_state.absmax")]
    calls = [
        str(entry.detail["call"])
        for entry in run.ledger
        if entry.op in ("merge", "unload") and "call" in entry.detail
    ]
    call = calls[-1] if calls else "merge"
    return [Place("call", call), Place("config", "packing_format_for_cpu")]
