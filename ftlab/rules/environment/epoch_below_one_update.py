"""The rule ENV004, epoch-below-one-update.

## What it does
Finds Trainers with too little data per epoch: no full batch where the last one is
dropped, so that nothing is trained, or fewer rows than one update should use.

## Why is this bad?
*no-batch*: with `dataloader_drop_last=True` and fewer rows than a batch, `train()`
returns after 0 steps with a loss of 0.0 and a line in the log; the model is what it
was, and is saved as trained. *short-window*: gradient_accumulation_steps counts within
an epoch. Where it has fewer batches, each update uses all rows and no more: the
configured batch size is never reached, and an epoch is one update.

## Evidence
Batches of the loader, its batch size and the rows of the dataset, at the start; no
threshold. Measured with transformers 5.23 and 4.57: 3 rows, batches of 8 and
drop_last make 0 of 5 steps (with num_train_epochs alone an error is raised); 16 rows in
batches of 4 and gradient_accumulation_steps=64 make one update per epoch, of 16 rows
instead of 256. *short-window* is info: trying a script on a few rows, or training on
all of them at once, is done on purpose.
By hand: `len(trainer.get_train_dataloader())`, `trainer.state.global_step` at the end.

## What to try
1. `dataloader_drop_last=False`, or a batch no larger than the data.
2. `gradient_accumulation_steps` no larger than the batches of an epoch.
3. More data; the filter that left so few rows may be wrong.

## Known problems
Data without a length (a stream) is judged only when it is exhausted.

## References
- transformers, Trainer.set_initial_training_values
- RUC-GSAI/YuLan-IR#5 (stopped at step 0: fewer rows than a batch)
"""

from ftlab.rules.reading.asked import asked, loader, made, needs_trainer
from ftlab.rules.reading.saving import first_facts, span
from ftlab.rules.rule import Finding, Results, Rule, Run
from ftlab.rules.words import counted


class EpochBelowOneUpdate(Rule):
    """Finds data that does not suffice for a batch, or for an update."""

    code = "ENV004"
    layer = "data"
    requires = needs_trainer

    def check(self, run: Run) -> Results:
        """Yield one finding where an epoch has no batch, or no whole update."""
        batches, rows = loader(run).get("batches"), made(run).get("rows")
        window = first_facts(run).training.get("gradient_accumulation_steps")
        if not isinstance(batches, int) or not isinstance(rows, int):
            return
        if batches == 0:
            size = loader(run).get("batch_size") or made(run).get("batch_size")
            yield self._nothing(run, rows, int(size or 0))
        asks = "gradient_accumulation_steps" in asked(run)
        if asks and isinstance(window, int) and window > batches > 0:
            yield self._short(run, batches, window)

    def _nothing(self, run: Run, rows: int, size: int) -> Finding:
        return self.error(
            f"an epoch has no batch: {counted(rows, 'row')} for batches of {size}; "
            "nothing will be trained",
            cause="dataloader_drop_last drops the last batch, which is the only one.",
            fix="dataloader_drop_last=False, or a smaller per_device_train_batch_size.",
            places={"config": ["dataloader_drop_last", "per_device_train_batch_size"]},
            steps=span(run),
            reason="no-batch",
            evidence={"rows": rows, "batch_size": size},
            healthy="an epoch has at least one batch",
        )

    def _short(self, run: Run, batches: int, window: int) -> Finding:
        return self.note(
            f"gradient_accumulation_steps={window} but an epoch has "
            f"{counted(batches, 'batch', 'batches')}: each update uses only these",
            cause="Gradients are not accumulated beyond the end of an epoch.",
            fix=f"gradient_accumulation_steps={batches} is equivalent; more rows, or "
            "smaller batches, make more updates.",
            places={
                "config": ["gradient_accumulation_steps", "per_device_train_batch_size"]
            },
            steps=span(run),
            reason="short-window",
            evidence={"batches": batches, "threshold": window},
            healthy="an epoch has more batches than an update uses",
        )
