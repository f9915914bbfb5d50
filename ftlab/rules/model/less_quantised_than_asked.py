"""The rule MOD003, less-quantised-than-asked.

## What it does
Finds models that were to be loaded in 4 bits and whose blocks hold more weights in
floating point than in 4 bits.

## Why is this bad?
The memory that quantisation was to save is spent all the same, and nobody says so: the
model loads, trains and is called quantised.

## Evidence
The configuration (`quantization_config.load_in_4bit`) against the weights: elements of
matrices within numbered blocks in 4 bits and in floating point. Layers that the
configuration leaves out by name (`llm_int8_skip_modules`) do not count, nor does the
head. Threshold: half of the elements, set by judgement.

## What to try
1. Look at what is left: experts that are one three-dimensional parameter are no linear
   layers, and bitsandbytes passes them by.
2. `llm_int8_skip_modules` matches parts of names: `["proj"]` leaves out all
   projections.
By hand: `{n: p.dtype for n, p in model.named_parameters() if p.dim() > 1}`.

## Known problems
Loading that ran out of memory on one device and was dispatched elsewhere may leave
layers unquantised on purpose.

## References
- unslothai/unsloth#6936 (fused experts)
- huggingface/transformers `quantizers/quantizer_bnb_4bit.py`
"""

from collections.abc import Iterator, Sequence

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.name_words import in_words
from ftlab.rules.rule import Rule, needs_facts
from ftlab.runlog.run import Run

SHARE = 0.5
"""Share of the blocks' elements in floating point from which on it is told."""


class LessQuantisedThanAsked(Rule):
    """Finds models asked for in 4 bits that mostly are not."""

    code = "MOD003"
    name = "less-quantised-than-asked"
    since = "0.1.0"
    status = "stable"
    requires = (
        needs_facts(
            "model", "facts of the model", "pass the model: ftlab.watch(model)"
        ),
    )

    def applies(self, run: Run) -> bool:
        """Leave models that were not asked for in 4 bits out."""
        model = run.facts.model
        return not model or bool((model.get("four_bit") or {}).get("asked"))

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding."""
        facts = run.facts.model["four_bit"]
        skipped = facts["asked"].get("llm_int8_skip_modules") or []
        left = {
            name: count
            for name, count in facts["unquantised"].items()
            if not _is_named(name, skipped)
        }
        total = sum(left.values())
        share = total / max(total + facts["elements"], 1)
        if share <= SHARE:
            return
        names = sorted(left, key=lambda name: -left[name])
        step = max(run.last_step, 0)
        yield self.finding(
            Severity.WARNING,
            f"step {step}: {share:.0%} of the blocks' weights are in floating point, "
            f"of a model that was to be in 4 bits: {in_words(names)}",
            cause="Only linear layers are quantised. Fused experts, parameters of "
            "one's own and layers added later are not, and an entry of "
            "llm_int8_skip_modules may match more than was meant.",
            fix="Look at their dtypes: {n: p.dtype for n, p in "
            "model.named_parameters()}; choose a quantisation that knows these "
            "layers, or count with their memory.",
            places=[
                *(Place("param", name) for name in names),
                Place("config", "load_in_4bit"),
            ],
            steps=(0, step),
            evidence={
                "share": share,
                "elements": total,
                "threshold": SHARE,
                "quantised": facts["elements"],
            },
            healthy="all matrices of the blocks are in 4 bits",
        )


def _is_named(name: str, skipped: Sequence[str]) -> bool:
    """Tell whether a whole component of the name is left out by the configuration."""
    return any(f".{entry}." in f".{name}." for entry in skipped)
