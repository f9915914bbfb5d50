"""The rule MOD013, needed-column-removed.

## What it does
Finds dataset columns that a Trainer removes although the loss or the collator reads
them.

## Why is this bad?
`remove_unused_columns` is on by default and keeps the columns that the model's forward
names. Weights of samples or tokens, teacher scores and the like are read by a custom
`compute_loss`, prompt lengths by a collator, others reach a forward as `**kwargs`: they
are not named, and are gone before the batch is built. Code that reads them carefully,
with `.get` or `if ... in`, continues without them, and does not train what was
intended.

## Evidence
The dataset's columns; those that the trainer keeps; and the code of `compute_loss`,
`training_step`, the collator and the modules' forwards, as far as it is the user's own,
with the functions that they pass the batch to: what is read from the batch (or of its
rows, or of `**kwargs`) by `batch[...]`, `.get` or `.pop`. There is no threshold.
Removing columns is not a fault: a key that is removed and not used (`inputs.pop("text",
None)`) does not count, nor does any column that no code reads.
Measured with transformers 5.23: of 12 batches with a column `loss_weights` none brings
it to `forward(self, input_ids, labels, **kwargs)`, and with
`remove_unused_columns=False` all do.
By hand: `next(iter(trainer.get_train_dataloader())).keys()`.

## What to try
1. `TrainingArguments(remove_unused_columns=False)`, and a collator that drops what it
   cannot stack.
2. Name the column in the model's forward: `def forward(self, ..., loss_weights=None)`.
3. `TrainingArguments(label_names=["labels", "loss_weights"])` keeps it as well.

## Known problems
Not judged: a custom `get_train_dataloader`, rows that name their columns themselves and
are loaded by worker processes, and code without a source.

## References
- huggingface/transformers#25054, #19599 (a collator), #43598
- huggingface/datasets#3353 (a column that compute_loss does not see)
- transformers documentation, `TrainingArguments.remove_unused_columns`
"""

from ftlab.rules.reading.saving import first_facts, span
from ftlab.rules.rule import Results, Rule, Run, needs_facts, to_runs_with
from ftlab.rules.words import listed


class NeededColumnRemoved(Rule):
    """Finds columns that the loss or the collator asks for and never gets."""

    code = "MOD013"
    status = "stable"
    layer = "data"
    requires = needs_facts(
        "training", "what a Trainer does with its data", "ftlab.watch(trainer)"
    )
    applies = to_runs_with(lambda run: "trainer_class" in run.facts.training)

    def check(self, run: Run) -> Results:
        """Yield one finding for all columns."""
        first = first_facts(run)
        # Where only rows name the columns, they are known after the first one.
        found = list(run.facts.training.get("removed_and_read") or ())
        if not found:
            return
        columns = [str(each["column"]) for each in found]
        readers = list(dict.fromkeys(str(each["where"]) for each in found))
        trainer = first.training.get("trainer_class")
        yield self.warning(
            f"the {trainer} removes {listed(columns)} from the dataset, but "
            f"{listed(readers)} reads it",
            cause="remove_unused_columns=True keeps only columns named in the model's "
            "forward; those read from the rows, the batch or **kwargs are not named "
            "there.",
            fix="TrainingArguments(remove_unused_columns=False), or name the column in "
            f"the model's forward: {columns[0]}=None.",
            places={
                "config": "remove_unused_columns",
                "data": [f"column {name}" for name in columns],
                "call": readers,
            },
            steps=span(run, first.step),
            reason="read-and-removed",
            evidence={"columns": len(columns)},
            healthy="every column that is read is kept",
        )
