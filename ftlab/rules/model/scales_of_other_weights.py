"""The rule MOD024, scales-of-other-weights.

## What it does
Finds 4-bit weights whose bytes were loaded without their scales: each block of codes is
multiplied by the scale of a different weight's block.

## Why is this bad?
`Linear4bit` saves a weight's bytes together with `absmax`, `quant_map` and
`quant_state`, but loads only the bytes. `strict=True` complains about unexpected keys;
with `strict=False` they are silently dropped, and the new bytes are read with the
previous scales. The base is then neither of the two models, and an adapter learns to
compensate for noise.

## Evidence
Taken where 4-bit weights were written in place (torch's count of writes), which neither
quantising nor transformers' loading does. The slope of the blocks' scales over the size
of their codes, in logarithms: a block with an outlier has a large scale and small
codes. Its expected value is measured within the blocks, half against half, where no
scale takes part. Found where the slope is, by three standard errors, less than a third
of that, and that itself is at least 0.7; otherwise the weights do not decide it.
Measured with bitsandbytes 0.50.2 on matrices of 512 x 512 drawn from 15 distributions
(normal, heavy tails, outlier columns, rows and blocks of other sizes, low rank; NF4,
and FP4 quantised twice): right scales have 0.88 to 1.08 times the slope within
blocks, those of other weights 0.05 times at most. Uniform and truncated weights have a
slope within blocks of 0.5 at most, and pruned ones, of whose codes more than half are
0, are ignored: they do not decide it. Scales of the same weights moved by 5 % have 0.66
times the slope and more, moved by half their size 0.18 to 0.85 times.
Logits of tiny Llamas are off by 39 to 92 %.
By hand: `torch.equal(layer.weight.quant_state.absmax, state["...weight.absmax"])` for a
layer and the state dict that was loaded.

## What to try
1. `model.save_pretrained(folder)` and `from_pretrained(folder)`, which loads
   everything.
2. Load the 16-bit weights and quantise them again.
3. Restore each state: `QuantState.from_dict({key: tensor, ...}, device)` of the keys
   under `...weight.`, as `layer.weight.quant_state` and `layer.quant_state`.

## Known problems
Weights that were moved to another device, or copied, after the load are new tensors:
their count of writes is 0, and nothing is read. Bytes of a close relative of the
previous model (a short fine-tuning) are read nearly right, and not found.

## References
- bitsandbytes-foundation/bitsandbytes#1946, and #1958 for a way to load them
- AnswerDotAI/fsdp_qlora#70 (unexpected keys: absmax, quant_map, quant_state)
- bitsandbytes 0.50.2: `nn/modules.py` (`Linear4bit._save_to_state_dict`)
"""

from collections.abc import Mapping
from typing import Any

from ftlab.rules.reading.needs import needs_model_facts
from ftlab.rules.rule import Results, Rule, Run, to_runs_with
from ftlab.rules.words import counted, in_words, number

TELLING = -0.7
"""Slope within blocks from which scales have to follow the codes."""

SHARE = 1 / 3
"""Share of that slope that right scales have at least."""

ERRORS = 3
"""Standard errors by which the slope has to be off."""


class ScalesOfOtherWeights(Rule):
    """Finds 4-bit weights that are read with the scales of other ones."""

    code = "MOD024"
    requires = needs_model_facts
    applies = to_runs_with(lambda run: bool(_scales(run)))

    def check(self, run: Run) -> Results:
        """Yield one finding for all of these weights."""
        found = _scales(run)
        slope, own, error = found["slope"], found["own"], found["error"]
        if own > TELLING or slope - ERRORS * error <= SHARE * own:
            return
        names = found["written"]
        step = max(run.last_step, 0)
        yield self.error(
            f"{counted(len(names), '4-bit weight')} were overwritten, but their scales "
            f"do not match their codes: slope {number(slope)}, {number(own)} within "
            f"blocks: {in_words(names)}",
            cause="Bytes were loaded without their quantisation state: load_state_dict "
            "reads only the weight, and strict=False drops absmax, quant_map and "
            "quant_state. The bytes are read with the previous scales.",
            fix="Load with from_pretrained from a folder that save_pretrained wrote, "
            "or load the 16-bit weights and quantise them again.",
            places={
                "module": names,
                "call": "load_state_dict",
                "config": "quant_state.absmax",
            },
            steps=(step, step),
            evidence={
                "slope": slope,
                "error": error,
                "blocks": found["blocks"],
                "threshold": SHARE * own,
            },
            healthy="about the slope within blocks",
        )


def _scales(run: Run) -> Mapping[str, Any]:
    found = (run.facts.model.get("four_bit") or {}).get("scales") or {}
    return dict(found)
