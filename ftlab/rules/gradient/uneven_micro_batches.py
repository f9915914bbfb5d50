"""The rule GRD018, uneven-micro-batches.

## What it does
Finds updates whose micro-batches have different numbers of labels but count the same,
so that a token of a short one weighs more than a token of a long one.

## Why is this bad?
The mean of means is not the mean: with 100 labels in one micro-batch and 1,000 in the
next, each of the first weighs ten times as much as in one large batch. The gradient
then depends on how the batch is cut, and a run with accumulation cannot be compared
with one without.

## Evidence
For each backward the number of labels that its cross entropy averages over, and the
factor that its mean is multiplied by: both from the graph, in steps 0 to 6 and each
16th. Their quotient is the weight of one token; reported where the largest in an update
is at least twice the smallest, in 3 checks in a row. Info: many train like this, and
giving each sample the same weight may be intended.
Measured on a small Llama with micro-batches of 10 and 30 labels: 3.0 where each mean is
divided by their number, 1.0 where the sum is divided by all labels of the update.
By hand: `[(b["labels"] != -100).sum() for b in micro_batches]`.

## What to try
1. `loss = cross_entropy(..., reduction="sum") / labels_of_the_whole_update`; a Trainer
   does so where the model takes `num_items_in_batch`.
2. Group samples of similar length, or pack them.

## Known problems
Seen for torch's own cross entropy over labels only.

## References
- huggingface/transformers#37766 (divided by the items of one forward)
- huggingface/blog, "gradient_accumulation.md"
"""

from ftlab.rules.reading.cycles import times
from ftlab.rules.reading.update_parts import Update, latest, updates_of
from ftlab.rules.rule import Results, Rule, Run, needs_operations
from ftlab.rules.words import at_steps, number

LOOKS = 3
"""Looks in a row."""

APART = 2.0
"""How many times as much a token weighs as another one."""


class UnevenMicroBatches(Rule):
    """Tells that tokens weigh differently by the micro-batch that they are in."""

    code = "GRD018"
    caused_by = ("EXP003",)
    requires = (
        needs_operations("backward", "a backward", "let it run for a step"),
        needs_operations("step", "a step of an optimizer", "let it run for a step"),
    )

    def check(self, run: Run) -> Results:
        """Yield one finding over the latest looks."""
        looks = [(u.step, apart) for u in updates_of(run) if (apart := _apart(u))]
        uneven = latest(looks, lambda look: look[1] >= APART, LOOKS)
        if not uneven:
            return
        most = max(apart for _, apart in uneven)
        steps = uneven[0][0], uneven[-1][0]
        yield self.note(
            f"{at_steps(*steps)}: a token weighs up to {number(most)} times as much as "
            "another of the same update, depending on its micro-batch",
            cause="The mean of each micro-batch counts the same, however many labels "
            "it has.",
            fix="Divide the sum of the losses by the number of labels in the whole "
            "update.",
            places={"call": "loss.backward", "config": "gradient_accumulation_steps"},
            steps=steps,
            reason="mean-of-means",
            evidence={"apart": most, "looks": len(uneven), "threshold": APART},
            healthy="each label of an update weighs the same",
        )


def _apart(update: Update) -> float:
    """Return how far the weights of tokens are apart; 0 where it is not known."""
    entries = update.backwards
    if update.cleared or len(entries) < 2 or any(times(each) > 1 for each in entries):
        return 0.0
    if any(each.detail.get("loss") != "mean" for each in entries):
        return 0.0
    labels = [float(each.detail.get("labels", 0)) for each in entries]
    weights = [float(each.detail["weight"]) for each in entries]
    if not all(labels) or not all(weights):
        return 0.0
    tokens = [w / count for w, count in zip(weights, labels, strict=True)]
    return max(tokens) / min(tokens)
