"""The rule ADP041, adapter-tokens-never-seen.

## What it does
Finds adapters that wait for tokens which the batches do not hold: activated LoRA
(aLoRA) whose invocation tokens are in none, or in less than half, of the rows, or whose
model does not pass their positions to the layers, and embedding rows that are trained
individually (`trainable_token_indices`) while none of their tokens occurs.

## Why is this bad?
An activated LoRA is active from its invocation tokens on. Without them only the base
model runs: the loss is its loss, the gradient of the adapter is exactly 0, and nothing
is raised. What is saved at the end is an adapter that adds nothing. A row of the input
embedding learns only from its own token: a token that never occurs means nothing after
training. With a head that is tied or trained as well it is worse: all other tokens push
it away.

## Evidence
The rows of each step that hold `alora_invocation_tokens` one after the other, as PEFT
compares them. *never*: none of at least 8 rows; *seldom*: less than half of at least 8
(PEFT's guide asks for all). *not-passed-on*: the class around the model is not
PeftModelForCausalLM, which is the only one that looks for the tokens. Measured on a
tiny Llama: with the tokens in the row the gradient norm of B is 2e-3, without them, and
with `task_type=None`, it is 0 in all layers.
*never-seen*: the ids whose rows are trained, against all ids that the batches have held
since the first step. A note when after 16 steps not one of them was there. Measured on
a tiny Llama with three such rows: the gradient of their values is exactly 0 in each
step, the loss falls, and nothing warns about it.
By hand: `calculate_alora_offsets(model.peft_config, model.active_adapter, input_ids)`
of `peft.tuners.lora.variants`: `None` for each row that runs without the adapter.
`set(ids) & set(batch["input_ids"].flatten().tolist())` over some batches.

## What to try
1. Take the tokens from a tokenized training row, not from the string alone: many
   tokenizers give a different token at the start of a text, or next to a space.
2. Put the invocation string into each row, after the long part and before the
   completion.
3. If rows are truncated: truncate from the left, so that the invocation stays.
4. `task_type="CAUSAL_LM"`, and get_peft_model instead of add_adapter.
5. *never-seen*: `tokenizer.convert_tokens_to_ids(new_tokens)` after they were added,
   not ids counted from the vocabulary's size or `model.config.vocab_size`, which is
   often padded; and data tokenized with that tokenizer, not cached before.

## Known problems
Rows given as embeddings, and batches for several adapters at once, are not counted.
Tokens that are rare in the data may take more than 16 steps to occur; hence
*never-seen* is info.

## References
- huggingface/peft#2609 (aLoRA)
- peft `tuners/lora/variants.py`: a row without the invocation gets the base alone
- Greenewald et al. 2025, Activated LoRA, arXiv:2504.12397
- peft `tuners/trainable_tokens/layer.py`: only the rows of these ids have a delta
"""

import numpy as np

from ftlab.rules.reading.wiring import adapters, may_hold_adapters, steps_of, wiring
from ftlab.rules.rule import Finding, Need, Place, Results, Rule, Run, Severity
from ftlab.rules.words import at_steps, counted, listed

ROWS = 8
"""Rows from which their share counts."""

SHARE = 0.5
"""Share of the rows with the tokens below which most of the training is lost."""

STEPS = 16
"""Steps without any of the trained tokens from which it is worth a note."""

_CONFIG = Place("config", "alora_invocation_tokens")


class AdapterTokensNeverSeen(Rule):
    """Finds adapters whose tokens do not come up."""

    code = "ADP041"
    requires = Need(
        "which tokens the adapters wait for and the batches hold",
        "ftlab.watch(model, optimizer) with its standard probes",
        lambda run: bool(wiring(run)) or "tokens_seen" in run.steps.columns,
    )

    def applies(self, run: Run) -> bool:
        """Tell whether an adapter waits for tokens, or nothing is known of adapters."""
        if "tokens_trained" in run.steps.columns:
            return True
        if not may_hold_adapters(run):
            return False
        known = list(adapters(run))
        return not known or any(d.get("invocation") for _, d, _ in known)

    def check(self, run: Run) -> Results:
        """Yield findings of the class around the model or the rows, and of tokens."""
        if "tokens_seen" in run.steps.columns:
            yield from self._trained(run)
        for name, described, _ in adapters(run):
            invocation = described.get("invocation") or {}
            if caller := invocation.get("caller"):
                yield self._unheard(run, name, str(caller))
            elif invocation:
                yield from self._rows(run, name, list(invocation["tokens"]))

    def _unheard(self, run: Run, adapter: str, caller: str) -> Finding:
        return self.error(
            f"from step {steps_of(run)[0]}: adapter {adapter} waits for its invocation "
            f"tokens, but {caller} does not look for them",
            cause="Only PeftModelForCausalLM passes the tokens' positions to the "
            "layers; without it the adapter is never active.",
            fix='task_type="CAUSAL_LM" in the configuration, and get_peft_model.',
            places=[_CONFIG, Place("config", "task_type")],
            steps=steps_of(run),
            reason="not-passed-on",
            evidence={"class": caller},
            healthy="the model is a PeftModelForCausalLM",
        )

    def _rows(self, run: Run, adapter: str, tokens: list[int]) -> Results:
        if "alora_rows" not in run.steps.columns:
            return
        rows = np.nansum(run.steps["alora_rows"])
        invoked = np.nansum(run.steps["alora_invoked"])
        if rows < ROWS or invoked >= SHARE * rows:
            return
        steps = (int(run.steps.step[0]), run.last_step)
        yield self.finding(
            Severity.WARNING if invoked else Severity.ERROR,
            f"{at_steps(*steps)}: {invoked:.0f} of {rows:.0f} rows contain the "
            f"invocation tokens of adapter {adapter} "
            f"({listed(list(map(str, tokens)), 8)}); the others train nothing",
            cause="The tokens of the invocation are not in the rows in this order: "
            "they were tokenized in a different context, truncated, or never added.",
            fix="Take the ids from a tokenized training row, and put the invocation "
            "into each row.",
            places=[_CONFIG],
            steps=steps,
            reason="seldom" if invoked else "never",
            evidence={"rows": int(rows), "invoked": int(invoked), "threshold": SHARE},
            healthy="every row contains the invocation tokens",
        )

    def _trained(self, run: Run) -> Results:
        known = np.flatnonzero(run.steps.known("tokens_seen"))
        seen = run.steps["tokens_seen"][known]
        if len(known) < STEPS or seen[-1] > 0:
            return
        trained = int(run.steps["tokens_trained"][known[-1]])
        steps = (int(run.steps.step[known[0]]), int(run.steps.step[known[-1]]))
        yield self.note(
            f"{at_steps(*steps)}: rows of {counted(trained, 'token')} are trained "
            "individually, but none of them was in any batch",
            cause="The ids are not those of the tokens in the data, or the tokens are "
            "very rare.",
            fix="tokenizer.convert_tokens_to_ids(tokens), with the tokenizer that the "
            "data was tokenized with.",
            places={"config": "trainable_token_indices"},
            steps=steps,
            reason="never-seen",
            evidence={"tokens": trained, "seen": 0, "threshold": STEPS},
            healthy="the tokens occur in the batches",
        )
