"""The rule ADP063, intruders-growing.

## What it does
Finds adapters that replace the base's largest directions by their own.

## Why is this bad?
What a weight does most is its largest singular directions. Where half of them are new,
the layer does something else than it was pretrained for: what the model could do before
is forgotten, and often the task is not learned well either.

## Evidence
Of the ten largest left singular vectors of W + scaling x B A, how many are like none of
W's (no cosine above one half), counted every 64 steps in as many layers as
`ftlab.watch(..., directions=4)` asks for. Reported when the median over the layers is 5
or more, and above that of the first count. Measured on a Llama of width 128 that had
learned texts to a loss of 0.04, LoRA on all linear layers for 100 steps of another
task, rates of 1e-4, 1e-3 and 1e-2: with r 4 a median of 0, 1 and 4, and a loss of 0.04,
0.14 and 2.6 on the texts; with r 16 of 0, 2 and 6.5, and 0.04, 0.43 and 4.7; with r 64
of 0, 3.5 and 9, and 0.04, 0.87 and 6.1. At 6 and more the new task was learned worse
than at 3.5 and fewer (a loss of 4.2 and 4.4, 2.2 and 2.5).
By hand: `torch.linalg.svd(W + layer.get_delta_weight("default")).U[:, :10]` against
that of W.

## What to try
1. A learning rate 3 to 10 times smaller, or a smaller alpha: both scale the update.
2. `ftlab.adapters(model, batch, directions=8)` shows in which layers.
3. PEFT can take them out again: `peft.tuners.lora.intruders`.

## Known problems
A base from random weights has no directions to lose. Where the base is to be forgotten,
as with another language or modality, this is the price.

## References
- Shuttleworth et al. 2024, LoRA vs Full Fine-tuning, arXiv:2410.21228
"""

import numpy as np

from ftlab.rules.reading.tensors import records_of, text_of
from ftlab.rules.rule import Results, Rule, Run, needs_if_recorded
from ftlab.rules.words import counted, in_words, number

HALF = 5.0
"""Of the ten largest directions."""


class IntrudersGrowing(Rule):
    """Finds adapters that put their directions in the place of the base's."""

    code = "ADP063"
    requires = needs_if_recorded(
        "intruders",
        "directions that the base has not",
        "ftlab.watch(..., directions=4)",
        "directions",
    )

    def check(self, run: Run) -> Results:
        """Yield one finding."""
        matrix = run.matrix("intruders", "directions").measured()
        medians = np.nanmedian(matrix.values, axis=1)
        if len(medians) < 2 or not medians[-1] >= HALF or medians[-1] <= medians[0]:
            return
        records = records_of(run, matrix.ids, "directions")
        last = matrix.values[-1]
        order = np.argsort(-np.nan_to_num(last, nan=-1.0), kind="stable")
        names = [text_of(records[at], "module") for at in order if last[at] >= HALF]
        first = int(np.argmax(medians >= HALF))
        yield self.warning(
            f"steps {int(matrix.steps[first])}-{int(matrix.steps[-1])}: of the ten "
            f"largest directions {number(float(medians[-1]))} are new to the base "
            f"(median of {counted(len(last), 'layer')}), {number(float(medians[0]))} "
            f"at step {int(matrix.steps[0])}: {in_words(names)}",
            cause="The update has outgrown what it was put on: its rate or its scaling "
            "is too large for these weights.",
            fix="Divide the learning rate by 3 to 10, and look at what the base could "
            "do: watch(..., prompts=[...]).",
            places={"module": names},
            steps=(int(matrix.steps[first]), int(matrix.steps[-1])),
            evidence={
                "intruders": float(medians[-1]),
                "at_first": float(medians[0]),
                "threshold": HALF,
            },
            healthy="the largest directions of most layers stay the base's",
        )
