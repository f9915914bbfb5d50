"""The rule ENV006, trained-in-evaluation-precision.

## What it does
Finds trainings whose weights an evaluation before them has cast to half precision:
`bf16_full_eval` or `fp16_full_eval`, and `evaluate()` before `train()`.

## Why is this bad?
Outside of training the Trainer casts the model itself, and never back. A first
`trainer.evaluate()`, for the numbers of the base, leaves weights, adapters among them,
in bfloat16: updates below a 256th of a weight are lost, float16 overflows, and what is
saved is rounded. Nothing is raised.

## Evidence
One of the two arguments is True; the Trainer has logged an evaluation before the
training; all that is trained is in that precision; and it was in another one when the
Trainer began to be watched, or the model's configuration names float32. Weights that
were loaded in half precision were so before: nothing is said.
Measured with transformers 5.23 and 4.57: `bf16_full_eval=True`, evaluate(), train() of
a float32 model trains bfloat16; without the first evaluate() float32.
By hand: `{p.dtype for p in model.parameters()}` before and after `trainer.evaluate()`.

## What to try
1. `bf16_full_eval=False` for a Trainer that trains; or another Trainer to evaluate.
2. `model.float()` after the evaluation, before the optimizer is made.
3. `bf16=True`: autocast, with weights in float32.

## Known problems
An adapter in float32 on a base loaded in half precision is told only where the Trainer
was watched before the evaluation: the configuration names the base's precision.
`predict()` casts too and logs nothing: that is not seen.

## References
- transformers, Trainer.evaluation_loop (`model.to(dtype=torch.bfloat16)`)
- huggingface/transformers#10268 (how it was made)
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, Place, Severity
from ftlab.rules.reading.asked import asked, is_trainers, made
from ftlab.rules.reading.saving import first_facts, needs_model, span
from ftlab.rules.rule import Rule
from ftlab.runlog.run import Run

PRECISIONS = {"bf16_full_eval": "bfloat16", "fp16_full_eval": "float16"}


class TrainedInEvaluationPrecision(Rule):
    """Finds weights that an evaluation has left in half precision."""

    code = "ENV006"
    name = "trained-in-evaluation-precision"
    since = "0.1.0"
    status = "preview"
    layer = "numerics"
    requires = (needs_model,)

    def applies(self, run: Run) -> bool:
        """Tell whether a Trainer shall evaluate in half precision."""
        on = (asked(run).get(name) is True for name in PRECISIONS)
        return is_trainers(run) and (not run.facts.model or any(on))

    def check(self, run: Run) -> Iterator[Finding]:
        """Yield one finding where what is trained was cast before."""
        now = list(made(run).get("dtypes") or ())
        before = first_facts(run).training.get("before") or {}
        if before.get("evaluated") is not True:
            return
        for name, dtype in PRECISIONS.items():
            loaded = made(run).get("config_dtype") == "float32"
            cast = before.get("dtypes", now) != now
            if asked(run).get(name) is True and now == [dtype] and (cast or loaded):
                yield self._finding(run, name, dtype)

    def _finding(self, run: Run, name: str, dtype: str) -> Finding:
        return self.finding(
            Severity.WARNING,
            f"all that is trained is in {dtype}, into which an evaluation before the "
            f"training has cast it: {name}=True",
            cause="Outside of training the Trainer casts the model itself to evaluate, "
            "and does not cast it back.",
            fix=f"{name}=False for a Trainer that trains, or model.float() between "
            "evaluate() and train().",
            places=[Place("config", name), Place("call", "evaluate")],
            steps=span(run),
            evidence={"reason": "cast", "dtype": dtype},
            healthy="an evaluation leaves what is trained in its precision",
        )
