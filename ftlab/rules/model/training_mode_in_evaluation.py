"""The rule MOD010, training-mode-in-evaluation.

## What it does
Finds evaluations that run in training mode while dropout is on.

## Why is this bad?
Every number of such an evaluation is random and too pessimistic: the best checkpoint is
chosen by luck, and early stopping ends a run that was still learning. Batch norms
update their statistics with the evaluation data.

## Evidence
The ledger: two forwards or more in a row without gradients and in training mode, at no
more than half of the steps; and the dropouts above 0 that were on in the same step.
Passes at every step (a reference model, rollouts) are ignored. There is no other
threshold. *losses*: every such forward was given labels, so that its loss was measured.
A warning. *outputs*: one was not. Info, since the purpose is not recorded: rollouts,
Monte Carlo dropout.
Measured on a Llama of two blocks, LoRA trained for 40 steps, 20 evaluations of one
batch: with a dropout of 0.3 losses from 4.619 to 4.672 in training mode and 4.604 each
time in evaluation mode; with 0.05 from 4.510 to 4.523, and 4.508.
By hand: print `model.training` at the top of the evaluation; evaluate one batch twice
and compare.

## What to try
1. `model.eval()` before the evaluation and `model.train()` after it.
2. `torch.no_grad()` switches off gradients and nothing else.
3. Where dropout should be on (Monte Carlo dropout), leave it.

## Known problems
Rollouts that are sampled every few steps are info. Measuring losses with Monte Carlo
dropout on purpose, now and then during training, is reported.

## References
- PyTorch documentation, Autograd mechanics: evaluation mode is not `no_grad`
- `ftlab.explain("MOD006")`, the same mistake in the other direction
"""

from ftlab.records.step import LedgerEntry
from ftlab.rules.rule import Results, Rule, Run, Severity, needs_steps_if_recorded
from ftlab.rules.words import at_steps, counted

SHARE = 0.5
"""Share of steps up to which such forwards are an evaluation."""

BATCHES = 2
"""Forwards in a row from which on they are an evaluation."""


class TrainingModeInEvaluation(Rule):
    """Finds what is evaluated with dropout on."""

    code = "MOD010"
    status = "stable"
    requires = needs_steps_if_recorded("dropouts_on", "the mode of the model's parts")

    def check(self, run: Run) -> Results:
        """Yield one finding for all evaluations."""
        evaluated = _evaluated(run)
        steps = run.steps.step.tolist()
        on = dict(zip(steps, run.steps["dropouts_on"].tolist(), strict=True))
        there = [step for step in evaluated if on.get(step, 0) > 0]
        if not there or len(evaluated) > SHARE * len(steps):
            return
        forwards = sum(evaluated[step] for step in there)
        measured = all(_with_labels(run, step) for step in there)
        dropouts = int(max(on[step] for step in there))
        first, last = there[0], there[-1]
        yield self.finding(
            Severity.WARNING if measured else Severity.INFO,
            f"{at_steps(first, last)}: {counted(forwards, 'forward')} without "
            f"gradients ran in training mode, with {counted(dropouts, 'dropout')} on",
            cause="model.eval() was not called before the evaluation; no_grad does not "
            "switch off dropout, so its losses and outputs are random.",
            fix="Call model.eval() before the evaluation and model.train() after it.",
            places={"call": "model.eval"},
            steps=(first, last),
            reason="losses" if measured else "outputs",
            evidence={
                "forwards": forwards,
                "dropouts_on": dropouts,
                "threshold": f"{BATCHES} forwards in a row",
            },
            healthy="an evaluation runs in evaluation mode",
        )


def _evaluated(run: Run) -> dict[int, int]:
    """Count, by step, forwards in a row in training mode and without gradients."""
    found: dict[int, int] = {}
    for entry in filter(_is_evaluation, run.ledger):
        times = int(entry.detail.get("times", 1))
        found[entry.step] = found.get(entry.step, 0) + times
    return found


def _with_labels(run: Run, step: int) -> bool:
    entries = filter(_is_evaluation, run.ledger)
    return all(e.detail.get("labels") is True for e in entries if e.step == step)


def _is_evaluation(entry: LedgerEntry) -> bool:
    detail = entry.detail
    trained = entry.op == "forward" and detail.get("mode") == "train"
    without = trained and detail.get("grad_enabled") is False
    return without and int(detail.get("times", 1)) >= BATCHES
