"""The rule MOD009, new-tokens-frozen.

## What it does
Finds rows of the embedding or head that look untrained, whose tokens occur in the
batches, and that this training does not change either.

## Why is this bad?
New tokens get new rows, at the mean of the old ones or random. LoRA freezes them with
the rest: the model sees the same vector for each new token, or noise, and cannot learn
to generate one, as its logit stays the mean of all. The loss falls on everything else,
so that nothing looks wrong.

## Evidence
Fresh are rows within 1 % of the usual distance of the mean row, rows of exactly 0, and
the last rows where their deviation is that of the model's `initializer_range` (or of
`nn.Embedding`, `nn.Linear`) within 4 standard errors plus 1 %, and at most a tenth of
the rows before them look so. Where most rows are fresh, nothing was trained, and
nothing is reported. Their ids are compared with those of the batches on the steps on
which slow measurements are due: attended ones for the embedding, labels for the head,
never padding; with images or audio in the batch, ids count for the embedding only where
they are labels too. A frozen row counts at once, one that is trainable (float32) when
it has not changed by a bit in 8 updates. Rows that PEFT trains separately do not count.
Measured: rows that transformers 5.23 initializes to the mean are off by less than 1e-3
of the usual distance, also in bf16; no row of four tiny models after 40 steps comes
near 1 %.
By hand: `w = model.get_input_embeddings().weight; (w[new] - w.mean(0)).norm(dim=1)`,
before and after some steps.

## What to try
1. `LoraConfig(trainable_token_indices={"embed_tokens": new_ids})`; with an untied head
   (`tie_word_embeddings` false), train that as well.
2. `modules_to_save=["embed_tokens", "lm_head"]`: all rows, and as much memory.
3. Get the ids from the tokenizer: `tokenizer.convert_tokens_to_ids(new)`.

## Known problems
Special tokens that are frozen on purpose look the same. Rows initialized to a copy, or
to the mean of a few other rows, are not recognised.

## References
- huggingface/peft#334, #1298 (both embedding and head have to be trained for new
  tokens)
- unslothai/unsloth#2188 (new rows that stay what they were)
- artidoro/qlora#214 (do not freeze the embedding when new tokens have to be learned)
- transformers, `resize_token_embeddings(mean_resizing=...)`
"""

from ftlab.records.names import NameRecord
from ftlab.rules.reading.tensors import text_of
from ftlab.rules.rule import Finding, Results, Rule, Run, needs_if_recorded
from ftlab.rules.words import counted

UPDATES = 8
"""Updates after which a trainable row that is used has changed."""

TABLE = "new_tokens"

_LOOKS = {
    "mean": "still at the mean of the others, the initial value of new rows",
    "zero": "still 0",
    "drawn": "still at their random initialization",
}


class NewTokensFrozen(Rule):
    """Finds fresh rows that the batches need and that do not learn."""

    code = "MOD009"
    status = "stable"
    requires = needs_if_recorded("still", "which tokens are new", table=TABLE)
    caused_by = ("OPT002", "GRD003")

    def check(self, run: Run) -> Results:
        """Yield a finding for the embedding and one for the head."""
        matrix = run.matrix("still", TABLE)
        names = run.names(TABLE)
        for column, row in enumerate(matrix.ids.tolist()):
            known = matrix.known[:, column]
            steps = matrix.steps[known]
            still = matrix.values[known, column]
            if not len(still) or not still[-1]:
                continue
            first, last = int(steps[still > 0][0]), int(steps[-1])
            name = names[row]
            if name.meta.get("frozen") or _stands(name, last - int(steps[0])):
                yield self._finding(name, int(still[-1]), (first, last))

    def _finding(self, name: NameRecord, count: int, steps: tuple[int, int]) -> Finding:
        frozen, output = bool(name.meta["frozen"]), bool(name.meta["output"])
        ids = [each for each in text_of(name, "still").split(",") if each]
        learnt = text_of(name, "learnt")
        why = "are frozen" if frozen else "have not changed by a bit"
        others = f" The rows {learnt} are trained instead." if learnt else ""
        return self.error(
            f"step {steps[1]}: {counted(count, 'row')} of {name.name} that the batches "
            f"need {why}, {_LOOKS[text_of(name, 'looks')]}: ids {', '.join(ids[:8])}",
            cause=(
                "New tokens were added, but nothing trains their rows: LoRA freezes "
                "the embedding and the head with the rest."
                if frozen
                else "These rows get no gradient: a mask excludes them."
            )
            + others,
            fix="LoraConfig(trainable_token_indices={...: new_ids}) with the "
            "tokenizer's ids, or modules_to_save with the embedding and the head.",
            places={
                "param": name.name,
                "token": ids,
                "config": "trainable_token_indices",
            },
            steps=steps,
            reason=("output" if output else "input")
            + ("-frozen" if frozen else "-without-gradient"),
            evidence={"rows": count, "threshold": 0},
            healthy="rows of new tokens that are used change at each update",
        )


def _stands(name: NameRecord, updates: int) -> bool:
    return name.dtype == "float32" and updates >= UPDATES
