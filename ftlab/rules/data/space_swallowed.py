"""The rule DAT040, space-swallowed.

## What it does
Tells that the tokenizer takes away white space that the chat template writes beside a
control token.

## Why is this bad?
The ids are not those of the template's text. Whoever tokenises that text in another way
(a serving engine, the slow form of the tokenizer, or the fast one) feeds the model line
ends that it has not seen in training. Answers that begin with white space lose it.

## Evidence
The chat template, rendered, and the tokenizer: an added token has `rstrip` or `lstrip`,
the template writes white space on that side of it, and the ids are the same without.
Measured: Phi-3's template on tokens with `rstrip=True` writes 4 line ends in a
conversation of two messages, and the ids hold 0.
By hand: `tokenizer.added_tokens_decoder`, and `tokenizer.decode(ids)` beside
`tokenizer.apply_chat_template(messages, tokenize=False)`.

## What to try
1. Look at how serving tokenises: the same tokenizer, in the same form, is right.
2. Else `AddedToken(text, rstrip=False, lstrip=False)` in `tokenizer.json` and
   `tokenizer_config.json`.

## Known problems
It is a note: Phi-3's own tokenizer is made so, and was trained so.

## References
- huggingface/transformers#35973 (slow and fast form of Phi-3's tokenizer differ)
- huggingface/tokenizers#1613
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.template_words import short
from ftlab.rules.reading.turns import (
    NEEDS,
    has_turns,
    template_of,
    turn_places,
    turn_sights,
)
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run


class SpaceSwallowed(Rule):
    """Tells of control tokens that take white space with them."""

    code = "DAT040"
    name = "space-swallowed"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def applies(self, run: Run) -> bool:
        """Tell whether there are turns, or nothing is known of the run."""
        return not run.facts.model or has_turns(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for all control tokens."""
        facts = template_of(run)
        if facts is None or not facts.swallowed:
            return
        sights = turn_sights(run)
        ends = [
            (sight, turn)
            for sight in sights
            for turn in sight.sample.turns
            if turn.part == "end"
        ]
        steps = [sight.step for sight in sights] or [0]
        names = ", ".join(map(short, facts.swallowed))
        space = next(iter(facts.swallowed.values()))
        setting = Place("config", "tokenizer.added_tokens_decoder")
        yield self.finding(
            Severity.INFO,
            f"{at_steps(min(steps), max(steps))}: {space!r} that the chat template "
            f"writes beside {names} is not in the ids",
            cause="The tokenizer takes it away with the token: rstrip or lstrip.",
            fix="The same tokenizer at serving, or AddedToken(..., rstrip=False, "
            "lstrip=False).",
            places=[setting, *turn_places(ends, lambda turn: turn.start)],
            steps=(min(steps), max(steps)),
            evidence={"reason": "stripped", "tokens": names, "space": space},
            healthy="ids that hold what the template writes",
        )
