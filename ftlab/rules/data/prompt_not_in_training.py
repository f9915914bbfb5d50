"""The rule DAT033, prompt-not-in-training.

## What it does
Finds chat templates whose prompt for an answer is no beginning of what is trained.

## Why is this bad?
At inference the model starts behind a text that it has never seen there, such as an
opened `<think>`: the answer begins in a way that no row has taught.

## Evidence
The chat template, rendered with a question and `add_generation_prompt=True`, and with
question and answer: the first is no beginning of the second.
Measured on 60 real templates: in 14 it is none.
By hand: compare both renderings of `apply_chat_template(..., tokenize=False)`.

## What to try
1. Put the same text in front of the answers that are trained.
2. Give the switch that leaves it out (`enable_thinking=False`) on both sides.

## Known problems
Rows may hold that text already, or be rendered by another template than the
tokenizer's: a note.

## References
- huggingface/trl#5213 (the prompt is no beginning of prompt and completion)
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.template import TemplateFacts
from ftlab.rules.reading.turns import (
    ANSWERS,
    NEEDS,
    has_turns,
    template_of,
    turn_places,
    turn_sights,
)
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run

SHOWN = 24
"""Characters of each text that the message shows."""


class PromptNotInTraining(Rule):
    """Finds prompts that no row of the training begins with."""

    code = "DAT033"
    name = "prompt-not-in-training"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def applies(self, run: Run) -> bool:
        """Tell whether there are turns, or nothing is known of the run."""
        return not run.facts.model or has_turns(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for the template."""
        facts = template_of(run)
        if facts is not None and facts.prompt_difference is not None:
            yield self._finding(run, facts)

    def _finding(self, run: Run, facts: TemplateFacts) -> Finding:
        sights = turn_sights(run)
        texts = [
            (sight, turn)
            for sight in sights
            for turn in sight.sample.turns
            if turn.role == ANSWERS and turn.part == "text"
        ]
        steps = [sight.step for sight in sights] or [0]
        left = right = ""
        if facts.prompt_difference is not None:
            left = facts.prompt_difference.left[:SHOWN]
            right = facts.prompt_difference.right[:SHOWN]
        setting = Place("config", "tokenizer.chat_template")
        return self.finding(
            Severity.INFO,
            f"{at_steps(min(steps), max(steps))}: the prompt goes on with {left!r} "
            f"where training has {right!r}",
            cause="The template's generation prompt holds a text that it does not "
            "write before an answer.",
            fix="The same text before the answers that are trained, or the switch "
            "that leaves it out on both sides.",
            places=[*turn_places(texts, lambda turn: turn.start), setting],
            steps=(min(steps), max(steps)),
            evidence={"reason": "no-prefix", "prompt": left, "training": right},
            healthy="a prompt that is the beginning of a trained conversation",
        )
