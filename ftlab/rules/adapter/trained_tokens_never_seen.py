"""The rule ADP042, trained-tokens-never-seen.

## What it does
Finds embedding rows that are trained individually (`trainable_token_indices`) while
none of their tokens occurs in the batches.

## Why is this bad?
A row of the input embedding learns only from its own token. If the token never occurs,
its gradient is exactly 0, and the new token means nothing after training. With a head
that is tied or trained as well it is worse: all other tokens push it away.

## Evidence
The ids whose rows are trained, against all ids that the batches have held since the
first step. A note when after 16 steps not one of them was there. Measured on a tiny
Llama with three such rows: the gradient of their values is exactly 0 in each step, the
loss falls, and nothing warns about it.
By hand: `set(ids) & set(batch["input_ids"].flatten().tolist())` over some batches.

## What to try
1. `tokenizer.convert_tokens_to_ids(new_tokens)` after they were added: ids that were
   counted from the vocabulary's size or from `model.config.vocab_size`, which is often
   padded, are wrong.
2. Look at a tokenized row: is the new token one id, or several pieces?
3. The data must be tokenized with the tokenizer that the tokens were added to: a
   dataset that was cached before contains none of them.

## Known problems
Tokens that are rare in the data may take more than 16 steps to occur; hence it is info.
Batches of embeddings are not counted.

## References
- PEFT, LoraConfig: trainable_token_indices
- peft `tuners/trainable_tokens/layer.py`: only the rows of these ids have a delta
"""

from collections.abc import Iterator

import numpy as np

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.rules.rule import Rule, needs_step_values
from ftlab.rules.words import at_steps, counted
from ftlab.runlog.run import Run

STEPS = 16
"""Steps without any of the tokens from which it is worth a note."""


class TrainedTokensNeverSeen(Rule):
    """Notes rows that are trained for tokens that do not come up."""

    code = "ADP042"
    name = "trained-tokens-never-seen"
    since = "0.1.0"
    status = "preview"
    requires = (
        needs_step_values(
            "tokens_seen",
            "which of the trained tokens the batches hold",
            "watch the training with the standard probes",
        ),
    )

    def applies(self, run: Run) -> bool:
        """Tell whether rows are trained by themselves, or nothing is known yet."""
        return not len(run.steps) or "tokens_trained" in run.steps.columns

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one note when none of them has come up."""
        known = np.flatnonzero(run.steps.known("tokens_seen"))
        seen = run.steps["tokens_seen"][known]
        if len(known) < STEPS or seen[-1] > 0:
            return
        trained = int(run.steps["tokens_trained"][known[-1]])
        steps = (int(run.steps.step[known[0]]), int(run.steps.step[known[-1]]))
        yield self.finding(
            Severity.INFO,
            f"{at_steps(*steps)}: rows of {counted(trained, 'token')} are trained "
            "individually, but none of them was in any batch",
            cause="The ids are not those of the tokens in the data, or the tokens are "
            "very rare.",
            fix="tokenizer.convert_tokens_to_ids(tokens), with the tokenizer that the "
            "data was tokenized with.",
            places=[Place("config", "trainable_token_indices")],
            steps=steps,
            evidence={
                "reason": "never-seen",
                "tokens": trained,
                "seen": 0,
                "threshold": STEPS,
            },
            healthy="the tokens occur in the batches",
        )
