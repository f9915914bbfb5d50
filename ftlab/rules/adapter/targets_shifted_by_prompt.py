"""The rule ADP049, targets-shifted-by-prompt.

## What it does
Finds custom losses that slice the logits of a prompt-tuned model at the wrong end: each
position is trained on a token that comes a whole prompt later.

## Why is this bad?
Prompt tuning and P-tuning put virtual tokens in front of the text, and there are logits
for them too. The first `T` of `T + n` rows belong to the prompt and to all but the last
`n` tokens: compared with the labels, each is trained to predict a token `n` positions
too far ahead. The loss falls all the same, as far as such guesses go.

## Evidence
The gradient of the logits, on the first steps and now and then: that of cross entropy
is below 0 at the target alone, so that it tells which token each position is taught.
A finding where 0.9 of the positions from the first one on are taught the token after
the one of the same number, and not half of those behind the prompt the token that
follows, at every measured step and at two at least. Measured on a tiny GPT-2 with 5
virtual tokens and rows of 12: 1.0 and 0.03 for `logits[:, :12]`, 0.0 and 1.0 for
`logits[:, -12:]` and for the model's own loss.
By hand: `model(**batch).logits.shape[1] - batch["input_ids"].shape[1]`.

## What to try
1. Pass the labels to the model: `model(**batch, labels=labels).loss` puts -100 in front
   of them.
2. `logits = logits[:, -labels.shape[1]:]` before the loss.

## Known problems
Only prompts that PEFT puts in front are known; a loss that is not cross entropy over
the tokens of the input is not judged. Prefix tuning adds keys and values, not
positions: its logits are as long as the labels.

## References
- PEFT, `PeftModelForCausalLM.forward` ("concat prompt labels")
- EleutherAI/lm-evaluation-harness#533, huggingface/trl#490, #3812 (logits that are
  longer than the tokens, cut at the wrong end or not at all)
"""

from ftlab.rules.rule import Results, Rule, Run, needs_step_values
from ftlab.rules.words import at_steps, counted

EARLY, RIGHT = 0.9, 0.5
"""Shares of positions, at least and at most, that show targets to be shifted."""

STEPS = 2
"""Steps that must have been measured."""


class TargetsShiftedByPrompt(Rule):
    """Finds targets that stand a prompt too early."""

    code = "ADP049"
    status = "stable"
    requires = needs_step_values(
        "prompt_targets", "the gradient of the logits of a prompt-tuned model"
    )

    def applies(self, run: Run) -> bool:
        """Tell whether a prompt is trained, or nothing is known yet."""
        configs = run.facts.model.get("peft")
        prompts = any(_tokens(config) for config in (configs or {}).values())
        return prompts or not run.facts.model

    def check(self, run: Run) -> Results:
        """Yield one finding where the targets are shifted at every measured step."""
        table = run.steps
        known = table.known("prompt_targets")
        right, early = (
            table[f"prompt_targets_{which}"][known] for which in ("right", "early")
        )
        if known.sum() < STEPS or (early < EARLY).any() or (right > RIGHT).any():
            return
        steps = table.step[known]
        configs = (run.facts.model.get("peft") or {}).values()
        tokens = max(_tokens(config) for config in configs)
        share = float(early.min())
        yield self.error(
            f"{at_steps(int(steps[0]), int(steps[-1]))}: {share:.0%} of the positions "
            f"are trained on the token {counted(tokens, 'position')} further ahead: "
            "the logits are taken from their beginning, where the prompt is",
            cause=f"The prompt's {counted(tokens, 'virtual token')} have logits too, "
            "before those of the text; the loss compares the first ones with the "
            "labels.",
            fix="logits = logits[:, -labels.shape[1]:] before the loss, or pass the "
            "labels to the model, which puts -100 in front of them.",
            places={"config": "num_virtual_tokens", "call": "loss", "data": "labels"},
            steps=(int(steps[0]), int(steps[-1])),
            reason="cut-at-the-beginning",
            evidence={
                "early": share,
                "right": float(right.max()),
                "threshold": EARLY,
                "virtual_tokens": tokens,
            },
            healthy="each position after the prompt predicts the next token",
        )


def _tokens(config: object) -> int:
    tokens = config.get("num_virtual_tokens") if isinstance(config, dict) else None
    return tokens if isinstance(tokens, int) else 0
