"""The rule ENV008, completion-only-not-applied.

## What it does
Finds TRL trainings with `completion_only_loss=True` or `assistant_only_loss=True` whose
batches exclude no token of the text from the loss.

## Why is this bad?
TRL marks prompts with a mask that its own collator turns into labels of -100. A
different collator makes labels from all tokens, and a dataset of plain texts has no
prompt to mask. Nothing is raised: the prompts, often most of the tokens, are trained on
too, and the loss cannot be compared with that of a run in which they are not.

## Evidence
Labels of -100 and padding of all steps so far. *no-mask*, with TRL's collator: no more
labels of -100 than padding. *foreign-collator*: at most one more per row, since a
collator that ignores padding ignores the end of the text where that is the same token.
Measured with TRL 1.16 and 0.24: texts of 11 tokens, `completion_only_loss=True` and
plain texts train 44 of 44 tokens; prompt and completion with transformers'
DataCollatorForLanguageModeling 43 of 44.
By hand: `(next(iter(trainer.get_train_dataloader()))["labels"] == -100).sum()`, or
`ftlab.tokens(batch=batch, tokenizer=tokenizer)`.

## What to try
1. No data_collator: TRL's own knows the mask.
2. Columns "prompt" and "completion" (or messages) instead of "text".
3. In a custom collator: `labels[completion_mask == 0] = -100`.

## Known problems
Packed and padding-free batches are not judged, nor batches without an attention mask.

## References
- TRL, SFTTrainer, "Train on completion only", DataCollatorForLanguageModeling
- huggingface/trl#1507, #3315 (prompts unexpectedly in the loss)
"""

import numpy as np

from ftlab.rules.reading.asked import asked, made
from ftlab.rules.rule import Finding, Results, Rule, needs_step_values, to_runs_with
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run

SETTINGS = ("completion_only_loss", "assistant_only_loss")

COLUMNS = ("ignored", "padding", "labels", "batch_size")


class CompletionOnlyNotApplied(Rule):
    """Finds losses on completions alone that are on all tokens."""

    code = "ENV008"
    layer = "data"
    requires = tuple(
        needs_step_values(column, f"the {column} of each step", "watch(trainer)")
        for column in COLUMNS
    )
    applies = to_runs_with(lambda run: any(asked(run).get(s) is True for s in SETTINGS))

    def check(self, run: Run) -> Results:
        """Yield one finding where no text is left out in any step."""
        chosen = [each for each in SETTINGS if asked(run).get(each) is True]
        if not chosen:
            yield self.cannot_tell("the arguments are not known", "watch(trainer)")
            return
        table = run.steps
        known = np.logical_and.reduce([table.known(column) for column in COLUMNS])
        ignored, padding, labels, rows = (table[c][known] for c in COLUMNS)
        foreign = not str(made(run).get("collator", "trl")).startswith("trl")
        left_out = ignored - padding
        if not known.any() or (left_out > rows * foreign).any() or not labels.any():
            return
        yield self._finding(run, known, int(labels.sum()), chosen[0], foreign=foreign)

    def _finding(
        self,
        run: Run,
        known: np.ndarray[tuple[int], np.dtype[np.bool_]],
        labels: int,
        name: str,
        *,
        foreign: bool,
    ) -> Finding:
        steps = run.steps.step[known]
        first, last = int(steps[0]), int(steps[-1])
        return self.warning(
            f"{at_steps(first, last)}: {name}=True, but all {labels} tokens of the "
            "text are trained on",
            cause="The collator is not TRL's, and makes labels from every token."
            if foreign
            else "The rows have no prompt and completion (or messages) to build a mask "
            "from.",
            fix="Leave data_collator out: TRL's own applies the mask."
            if foreign
            else 'Use columns "prompt" and "completion" (or "messages") instead of '
            '"text".',
            places={"config": name, "data": "labels"},
            steps=(first, last),
            reason="foreign-collator" if foreign else "no-mask",
            evidence={"labels": labels, "threshold": 0},
            healthy="labels of -100 on every prompt",
        )
