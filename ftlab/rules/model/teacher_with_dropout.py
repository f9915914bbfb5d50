"""The rule MOD016, teacher-with-dropout.

## What it does
Finds teachers and references that run within each training step with dropout on: frozen
parts of the model, other models, and the model itself without its adapter.

## Why is this bad?
Their output is a target, and it is random: the same batch gives a different one each
time. The student learns the noise, a KL term never reaches 0 where both are the same,
and ratios of a policy to its reference are off as well. `torch.no_grad()`
does not switch dropout off.

## Evidence
Calls without gradients in the training steps 0 to 3 and in two of every 16: whether the
module that is called, and dropouts above 0 in it, are in training mode. A finding where
it was so from the first or second step on, in at least 0.9 of the checked steps and in
two at least, so that an evaluation does not count; no call of these was given what an
earlier one was given, as Monte Carlo dropout does (that is info); and some of its
weights stayed the same to the last bit: a mean teacher moves, and drops on purpose.
- *part*: the largest frozen part of the watched model. It must have been given a tensor
  that something which learns beside it was given too, and that one no numbers which the
  part was not given: a frozen tower that provides features is not a teacher.
- *other*: another model of the process, of which the same holds. It is looked for when
  the first training forward is given no labels.
- *own*: the model itself, its adapters off, or only with those that no optimizer holds.
  Dropouts of its base count.

Measured on a GPT-2 of two blocks with a dropout of 0.1, random weights: two outputs of
the teacher for one batch differ by a KL of 0.003 (0.004 with one in attention too); in
evaluation mode by 0.
By hand: `print(teacher.training)` before its forward; call it twice and compare.

## What to try
1. `teacher.eval()` before its forward, each time: `train()` on its parent switches it
   on again. In a custom module, override `train` so that it stays off.
2. For the model without its adapter: `model.eval()` around the pass and `model.train()`
   after it; or dropouts of p 0 in the base. TRL: `disable_dropout=True`.
3. Outputs of a fixed teacher can be computed once, before training.

## Known problems
A teacher that is run in no training step, is given other tensors than the student (of
another tokenizer, or moved to another device), or drops by
`torch.nn.functional.dropout` alone in another model, is not seen. Distilling the noise
of a single pass on purpose is reported.

## References
- PyTorch documentation, Autograd mechanics: evaluation mode is not `no_grad`
- trl, `DPOConfig.disable_dropout`, True by default; `GRPOConfig.disable_dropout`
- Tarvainen and Valpola 2017, Mean teachers (a teacher that moves, with dropout)
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ftlab.records.names import NameRecord
from ftlab.rules.reading.tensors import records_of, text_of
from ftlab.rules.rule import Finding, Place, Results, Rule, Severity, needs_step_values
from ftlab.rules.words import at_steps, counted, number
from ftlab.runlog.run import Run

TABLE = "teachers"

SHARE = 0.9
"""Share of the steps looked at in which it must have been so."""

FEWEST = 2
"""Such steps at least."""

_WORDS = {
    "part": "{name}, a frozen part of the model,",
    "other": "{name}, which is not trained,",
    "own": "the model without the adapter that learns",
}


@dataclass(frozen=True, slots=True)
class _Noisy:
    """A teacher whose passes had dropouts on, at these steps."""

    name: NameRecord
    steps: tuple[int, int]
    dropouts: int
    passes: int
    repeated: bool


class TeacherWithDropout(Rule):
    """Finds teachers whose answers are drawn by chance."""

    code = "MOD016"
    requires = needs_step_values("teacher_looks", "passes of teachers and their modes")

    def applies(self, run: Run) -> bool:
        """Leave out runs without a teacher."""
        return not len(run.steps) or "dropouts_on" in run.columns(TABLE)

    def check(self, run: Run) -> Results:
        """Yield one finding per teacher."""
        for each in _noisy(run):
            yield self._finding(each)

    def _finding(self, noisy: _Noisy) -> Finding:
        kind, p = text_of(noisy.name, "kind"), noisy.name.meta.get("p", 0.0)
        who = _WORDS[kind].format(name=noisy.name.name)
        call = Place("call", "model.eval" if kind == "own" else "teacher.eval")
        name = noisy.name.name
        module = Place("object", name) if kind == "other" else Place("module", name)
        return self.finding(
            Severity.INFO if noisy.repeated else Severity.WARNING,
            f"{at_steps(*noisy.steps)}: {who} ran without gradients and with "
            f"{counted(noisy.dropouts, 'dropout')} (up to {number(float(p))}) on",
            cause="It is in training mode, as train() on its parent leaves it; no_grad "
            "does not switch dropout off, so its outputs are random.",
            fix="Call eval() on it before each of its forward passes"
            + (", and train() after it." if kind == "own" else "."),
            places=[call, module] if kind == "own" else [module, call],
            steps=noisy.steps,
            reason=kind,
            evidence={
                "dropouts_on": noisy.dropouts,
                "passes": noisy.passes,
                "share": SHARE,
                "threshold": FEWEST,
            },
            healthy="a teacher runs in evaluation mode",
        )


def _noisy(run: Run) -> Iterator[_Noisy]:
    on, passes = run.matrix("dropouts_on", TABLE), run.matrix("passes", TABLE)
    again, moved = run.matrix("repeated", TABLE), run.matrix("moved", TABLE)
    looks = np.nan_to_num(run.steps["teacher_looks"]) > 0
    looked, start = run.steps.step[looks], int(run.steps.step[0])
    for column, name in enumerate(records_of(run, on.ids, TABLE)):
        rows = on.known[:, column] & (on.values[:, column] > 0)
        steps = on.steps[rows]
        if (
            len(steps) < FEWEST
            or steps[0] > start + 1
            or moved.values[rows, column].any()
        ):
            continue
        if len(steps) < SHARE * int((looked >= steps[0]).sum()):
            continue
        yield _Noisy(
            name,
            (int(steps[0]), int(steps[-1])),
            int(on.values[rows, column].max()),
            int(passes.values[rows, column].sum()),
            bool(again.values[rows, column].any()),
        )
