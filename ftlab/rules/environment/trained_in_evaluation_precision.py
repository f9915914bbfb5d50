"""The rule ENV006, trained-in-evaluation-precision.

## What it does
Finds training runs whose weights were cast to half precision by an evaluation before
them: `bf16_full_eval` or `fp16_full_eval`, and `evaluate()` before `train()`.

## Why is this bad?
Outside of training the Trainer casts the model itself, and never back. A first
`trainer.evaluate()`, for baseline numbers, leaves weights, including adapters, in
bfloat16: updates below a 256th of a weight are lost, float16 overflows, and what is
saved is rounded. Nothing is raised.

## Evidence
One of the two arguments is True; the Trainer has logged an evaluation before the
training; all trained parameters are in that precision; and they were in a different one
when watching began, or the model's configuration names float32. Weights that were
loaded in half precision are not reported.
Measured with transformers 5.23 and 4.57: `bf16_full_eval=True`, evaluate(), train() of
a float32 model trains bfloat16; without the first evaluate() float32.
By hand: `{p.dtype for p in model.parameters()}` before and after `trainer.evaluate()`.

## What to try
1. `bf16_full_eval=False` for a Trainer that trains; or evaluate with a separate
   Trainer.
2. `model.float()` after the evaluation, before the optimizer is created.
3. `bf16=True`: autocast, with weights in float32.

## Known problems
An adapter in float32 on a base loaded in half precision is reported only where the
Trainer was watched before the evaluation: the configuration names the base's precision.
`predict()` casts too and logs nothing: that is not seen.

## References
- transformers, Trainer.evaluation_loop (`model.to(dtype=torch.bfloat16)`)
- huggingface/transformers#10268 (how it was made)
"""

from ftlab.rules.reading.asked import asked, is_trainers, made
from ftlab.rules.reading.saving import first_facts, needs_model, span
from ftlab.rules.rule import Finding, Results, Rule, Run

PRECISIONS = {"bf16_full_eval": "bfloat16", "fp16_full_eval": "float16"}


class TrainedInEvaluationPrecision(Rule):
    """Finds weights that an evaluation has left in half precision."""

    code = "ENV006"
    layer = "numerics"
    requires = needs_model

    def applies(self, run: Run) -> bool:
        """Tell whether a Trainer shall evaluate in half precision."""
        on = (asked(run).get(name) is True for name in PRECISIONS)
        return is_trainers(run) and (not run.facts.model or any(on))

    def check(self, run: Run) -> Results:
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
        return self.warning(
            f"all trained parameters are in {dtype}, cast by an evaluation before "
            f"training: {name}=True",
            cause="Outside of training the Trainer casts the model itself to evaluate, "
            "and does not cast it back.",
            fix=f"{name}=False for a Trainer that trains, or model.float() between "
            "evaluate() and train().",
            places={"config": name, "call": "evaluate"},
            steps=span(run),
            reason="cast",
            evidence={"dtype": dtype},
            healthy="an evaluation does not change the precision of trained parameters",
        )
