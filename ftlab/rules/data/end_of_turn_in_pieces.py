"""The rule DAT032, end-of-turn-in-pieces.

## What it does
Finds chat templates whose end of an answer is no token of this vocabulary.

## Why is this bad?
The template was written for another tokenizer. `<|im_end|>` is then seven pieces of
common text: the model must learn to spell it, generation stops at none of them, and
each turn costs a dozen tokens more.

## Evidence
The chat template, rendered, and the tokenizer: the text behind a final answer holds a
control string (in brackets, as control tokens are written), which is 2 tokens or more,
and no control string there is one token.
Measured: ChatML on a Llama vocabulary makes 7 pieces of `<|im_end|>` and of
`<|im_start|>`, and no EOS in any of 2 samples.
By hand: `tokenizer.encode("<|im_end|>", add_special_tokens=False)`.

## What to try
1. A template whose control strings this vocabulary has.
2. `tokenizer.add_special_tokens(...)`, `model.resize_token_embeddings(...)`, and train
   the new rows.

## Known problems
Only the end of an answer is judged: openings such as `[INST]` may well be plain text.

## References
- huggingface/trl#1242 (`setup_chat_format`)
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


class EndOfTurnInPieces(Rule):
    """Finds ends of answers that are spelt out."""

    code = "DAT032"
    name = "end-of-turn-in-pieces"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def applies(self, run: Run) -> bool:
        """Tell whether there are turns, or nothing is known of the run."""
        return not run.facts.model or has_turns(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for the template's end of an answer."""
        facts = template_of(run)
        broken = _broken(facts) if facts is not None else {}
        if not broken:
            return
        string, count = next(iter(broken.items()))
        sights = turn_sights(run)
        ends = [
            (sight, turn)
            for sight in sights
            for turn in sight.sample.turns
            if turn.role == ANSWERS and turn.part == "end"
        ]
        steps = [sight.step for sight in sights] or [0]
        setting = Place("config", "tokenizer.chat_template")
        places = [*turn_places(ends, lambda turn: turn.start), setting]
        yield self.finding(
            Severity.WARNING,
            f"{at_steps(min(steps), max(steps))}: {string!r} ends an answer and is "
            f"{count} tokens of this vocabulary",
            cause="The chat template writes control strings that this tokenizer does "
            "not have.",
            fix="A template of this model, or add the strings as special tokens, "
            "resize the embeddings and train the new rows.",
            places=places,
            steps=(min(steps), max(steps)),
            evidence={"token": string, "pieces": count, "threshold": 1},
            healthy="one token for the end of an answer",
        )


def _broken(facts: TemplateFacts) -> dict[str, int]:
    """Give the control strings of the end of an answer, where none is one token."""
    held = {s: n for s, n in facts.pieces.items() if s in facts.terminator}
    whole = facts.stops.get("template") or any(n == 1 for n in held.values())
    return {} if whole else held
