"""The rule MOD003, less-quantised-than-asked.

## What it does
Finds models configured for 4 bits whose blocks hold more than a tenth of their weights
in floating point.

## Why is this bad?
The memory that quantisation should save is used all the same, and nothing warns about
it: the model loads, trains and is called quantised.

## Evidence
The configuration (`quantization_config.load_in_4bit`) against the weights: elements of
matrices within numbered blocks in 4 bits and in floating point. Layers that the
configuration excludes by whole names or by a pattern (`llm_int8_skip_modules`) do not
count, nor does the head, as long as anything is in 4 bits: `["model"]` excludes
everything in a Llama. Threshold: a tenth of the elements.
Measured over the default configurations of 24 architectures of transformers 5.23, were
all their linear layers quantised: 0 in 13 dense ones, at most 1.8 % where there is a
state space, a recurrence or a convolution (RecurrentGemma; 3.7 % in a tiny Mamba), and
88 % and more where experts are one parameter (Jamba 88 %, DeepSeek V3 91 %, Mixtral
97 %, Qwen3-MoE 98 %, GPT-OSS 99 %). One of the three feed-forward matrices of a Llama
is 22 %.

## What to try
1. Look at what is left: experts stored as one three-dimensional parameter are not
   linear layers, and bitsandbytes skips them.
2. `llm_int8_skip_modules` matches the ends of names: `["proj"]` excludes all
   projections.
By hand: `{n: p.dtype for n, p in model.named_parameters() if p.dim() > 1}`.

## Known problems
A model that did not fit on one device and was dispatched elsewhere may have unquantised
layers on purpose.

## References
- unslothai/unsloth#6936 (fused experts)
- huggingface/transformers `quantizers/quantizer_bnb_4bit.py`
"""

import re
from collections.abc import Sequence

from ftlab.records.name_words import in_words
from ftlab.rules.reading.needs import needs_model_facts
from ftlab.rules.rule import Results, Rule, Run

SHARE = 0.1
"""Share of the blocks' elements in floating point from which on it is told."""

_PATTERN = re.compile(r"[*+?\\\[(|^$]")
"""What makes an entry of the configuration a pattern instead of a name."""


class LessQuantisedThanAsked(Rule):
    """Finds models asked for in 4 bits that are not in good part."""

    code = "MOD003"
    status = "stable"
    requires = needs_model_facts

    def applies(self, run: Run) -> bool:
        """Leave models that were not asked for in 4 bits out."""
        model = run.facts.model
        return not model or bool((model.get("four_bit") or {}).get("asked"))

    def check(self, run: Run) -> Results:
        """Yield one finding."""
        facts = run.facts.model["four_bit"]
        named = facts["asked"].get("llm_int8_skip_modules") or []
        # Nobody asks for 4 bits to have none.
        skipped = named if facts["elements"] else []
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
        yield self.warning(
            f"step {step}: {share:.0%} of the blocks' weights are in floating point, "
            f"in a model configured for 4 bits: {in_words(names)}",
            cause="Only linear layers are quantised. Fused experts, custom parameters "
            "and layers added later are not, and an entry of llm_int8_skip_modules may "
            "match more than intended."
            if facts["elements"]
            else "No layer is in 4 bits: an entry of llm_int8_skip_modules names a "
            "module that contains all of them, or the layers are of no supported kind.",
            fix="Check their dtypes, {n: p.dtype for n, p in "
            "model.named_parameters()}; use a quantisation that supports these layers, "
            "or plan for their memory.",
            places={
                "param": names,
                "config": [
                    "load_in_4bit",
                    *(["llm_int8_skip_modules"] if named else ()),
                ],
            },
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
    """Tell whether a component of the name, or a pattern, is left out on purpose."""
    return any(
        re.match(entry, name) is not None
        if _PATTERN.search(entry)
        else f".{entry}." in f".{name}."
        for entry in skipped
    )
