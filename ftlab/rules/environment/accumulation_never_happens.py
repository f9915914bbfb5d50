"""The rule ENV007, accumulation-never-happens.

## What it does
Finds loops with an `Accelerator(gradient_accumulation_steps=K)` that never accumulate:
each micro-batch is an update of its own.

## Why is this bad?
The number alone does nothing: `accelerator.accumulate(model)` makes the prepared
optimizer skip its steps. Without it the batch is K times smaller than configured, there
are K times as many updates, a schedule ends K times too early, and each gradient is
divided by K all the same, by `accelerator.backward`.

## Evidence
Three updates or more, all of them of one backward whose loss was divided by K, while
accelerate was set to accumulate K and was not in the middle of it. Updates at the last
batch of a prepared loader are ignored: there accelerate steps in any case. Measured on
a tiny Llama with K = 4 and 24 batches: 24 updates instead of 6, each of 0.25 times the
mean loss of 2 rows.
By hand: print `accelerator.sync_gradients` in the loop: it is always True.

## What to try
1. `with accelerator.accumulate(model):` around forward, backward, step and zero_grad.
2. `gradient_accumulation_steps=1` where nothing should be accumulated.
3. Accumulated by hand: step each K-th time; `accelerator.backward` divides already.

## Known problems
Read from the graph of the loss, as GRD017's evidence: a loss from a kernel of its own
is not judged. A Trainer accumulates by itself and is not judged.

## References
- accelerate, Accelerator.accumulate, Accelerator.backward
- huggingface/transformers#26312 (accelerator.backward divides)
"""

from ftlab.rules.reading.update_parts import Update, calls, updates_of
from ftlab.rules.rule import Finding, Results, Rule, Run, needs_operations
from ftlab.rules.words import at_steps

UPDATES = 3
"""Updates that must have been made of one backward."""


class AccumulationNeverHappens(Rule):
    """Finds accelerators that shall accumulate and never do."""

    code = "ENV007"
    layer = "optimizer"
    requires = (
        needs_operations("backward", "a backward", "let it run for a step"),
        needs_operations("step", "a step of an optimizer", "let it run for a step"),
    )

    def applies(self, run: Run) -> bool:
        """Tell whether a loop of one's own trains, or nothing is known."""
        return "trainer_class" not in run.facts.training

    def check(self, run: Run) -> Results:
        """Yield one finding where each update is made of one backward."""
        last = {
            entry.step
            for entry in run.ledger
            if entry.op == "step" and entry.detail.get("end_of_data")
        }
        updates = [each for each in updates_of(run) if each.step not in last]
        if len(updates) >= UPDATES and all(map(_is_alone, updates)):
            yield self._finding(updates)

    def _finding(self, updates: list[Update]) -> Finding:
        steps = updates[0].step, updates[-1].step
        asked = int(updates[-1].backwards[-1].detail["accelerate"])
        return self.warning(
            f"{at_steps(*steps)}: gradient_accumulation_steps={asked} but each update "
            f"has 1 backward, its loss divided by {asked}",
            cause="accelerator.accumulate(model) is missing around the step: the "
            "setting alone divides the loss but skips no step.",
            fix="with accelerator.accumulate(model): forward, backward, step and "
            "zero_grad; or gradient_accumulation_steps=1.",
            places={
                "config": "gradient_accumulation_steps",
                "call": "accelerator.accumulate",
            },
            steps=steps,
            reason="not-accumulated",
            evidence={"updates": len(updates), "gathered": asked, "threshold": UPDATES},
            healthy="each update has as many backwards as gradient_accumulation_steps",
        )


def _is_alone(update: Update) -> bool:
    """Tell whether an update is of one backward that accelerate has divided."""
    detail = update.backwards[-1].detail
    asked, divided = detail.get("accelerate", 0), detail.get("divided") or ()
    return not update.awaited and calls(update.backwards) == 1 and asked in divided
