"""The rule MOD029, quantisation-error-concentrated.

## What it does
Finds weights that 4 bits keep far worse than the model's others.

## Why is this bad?
Each block of 64 weights has one scale, that of its largest. Beside an outlier the other
weights of a block are next to nothing: they become 0 or the same few values. Such a
layer no longer does what it did, and the adapter is trained to make up for it, in place
of learning the task.

## Evidence
`base_error` of each layer with a LoRA pair: the share of the weight, without the
largest of each block, that is expected to be lost: every code value stands for weights
that are as likely anywhere around it. The original is not needed. Reported where it is
at least 0.25 and twice the median over the layers, in a quarter of them at most.
Measured on 256 x 512 weights, expected and, against the original, true: NF4 of normal
weights 0.101 and 0.097, uniform 0.093 and 0.093, Laplace 0.117 and 0.115; with one
weight of 50 standard deviations in each row 0.48 and 0.36, with one of 30 in each block
0.64 and 0.72; FP4 0.11 to 0.17 without outliers, and above 0.8 for 0.3 to 0.9 with
them.
By hand: `ftlab.adapters(model, original="the folder of the base").quantisation`
compares each layer with what it was.

## What to try
1. Leave these layers as they are:
   `BitsAndBytesConfig(..., llm_int8_skip_modules=[...])`.
2. A smaller block, or 8 bits, where outliers are a matter of columns.
3. `init_lora_weights="loftq"`, or the adapter begins with what was lost.

## Known problems
Layers without a LoRA pair are not measured. A weight whose largest values carry all of
its meaning loses nothing that matters.

## References
- Dettmers et al. 2022, LLM.int8(), arXiv:2208.07339 (outlier features)
- Dettmers et al. 2023, QLoRA, arXiv:2305.14314 (NF4 and its blocks)
- Li et al. 2023, LoftQ, arXiv:2310.08659
"""

from collections.abc import Sequence

import numpy as np

from ftlab.records.places import PEFT
from ftlab.rules.reading.tensors import records_of, text_of
from ftlab.rules.rule import Results, Rule, Run, needs_if_recorded
from ftlab.rules.words import counted, in_words, number

LOST = 0.25
"""Share of a weight that is lost: twice what NF4 takes of any without outliers."""

TIMES = 2.0
"""The median of the layers, times this."""

NAMED = 4

FEW = 0.25
"""Share of the layers that may be such: of more, the format is to blame."""


class QuantisationErrorConcentrated(Rule):
    """Finds the layers that 4 bits keep worst."""

    code = "MOD029"
    requires = needs_if_recorded(
        "base_error",
        "the error of layers in 4 bits",
        "watch a model in 4 bits with LoRA layers",
        "adapters",
    )

    def check(self, run: Run) -> Results:
        """Yield one finding for all such layers."""
        matrix = run.matrix("base_error", "adapters").measured()
        records = records_of(run, matrix.ids, "adapters")
        errors: dict[str, float] = {}
        for column, record in enumerate(records):
            known = matrix.values[:, column]
            known = known[np.isfinite(known)]
            if len(known):
                errors[text_of(record, "module")] = float(known[0])
        if not errors:
            return
        middle = float(np.median([*errors.values()]))
        bad = {n: e for n, e in errors.items() if e >= max(LOST, TIMES * middle)}
        if not bad or len(bad) > FEW * len(errors):
            return
        worst = sorted(bad, key=lambda name: -bad[name])
        step = int(matrix.steps[0])
        yield self.warning(
            f"4 bits have lost {number(100 * bad[worst[0]])} % of the weight of "
            f"{worst[0]}, {number(100 * middle)} % of the median one; so of "
            f"{counted(len(bad), 'layer')} of {len(errors)}: {in_words(worst)}",
            cause="A few outliers set the scale of whole blocks, whose other weights "
            "are rounded to nothing.",
            fix="Leave them out of quantisation: BitsAndBytesConfig(..., "
            f"llm_int8_skip_modules={_entries(worst)}).",
            places={"module": worst},
            steps=(step, step),
            evidence={"error": bad[worst[0]], "median": middle, "threshold": LOST},
            healthy="every layer loses about as much: 10 % with NF4",
        )


def _entries(names: Sequence[str]) -> list[str]:
    """Name modules as the base does, with the head, which is left out by default."""
    return ["lm_head", *(each.removeprefix(PEFT) for each in names[:NAMED])]
