"""The rule DAT019, bos-missing.

## What it does
Finds conversations that are trained without BOS, although both the chat template writes
one and the tokenizer puts one in front of every text.

## Why is this bad?
The model met BOS at the beginning of every text in pre-training, and will be served one
with every prompt. Much attention rests on that first token: without it the loss begins
higher, and what is learnt belongs to a beginning that never comes again.

## Evidence
What the chat template writes begins with the BOS that the tokenizer adds by itself (its
survey tells that). Of the samples that hold turns 4 at least, and 90 %, begin with the
opening of a turn, and not one sample holds BOS anywhere: rows that were cut begin with
common text, packed ones hold BOS further on.
Measured: rendered text without its BOS, tokenised with `add_special_tokens=False`: 16
of 16 samples begin with the opening of the question; where one of the two is left as it
is, none. Templates that write no BOS (ChatML) are left in peace, whatever the tokenizer
adds.
By hand: `batch["input_ids"][:, 0] == tokenizer.bos_token_id`.

## What to try
1. `apply_chat_template(..., tokenize=True)`, which writes one BOS.
2. For rendered text without BOS `tokenizer(text)`, for text with it
   `tokenizer(text, add_special_tokens=False)`.

## Known problems
Texts without a template are not judged: where only the tokenizer adds BOS, a corpus may
rightly be trained without it. That the base model was trained with BOS is taken from
its template and its tokenizer, not from the model.

## References
- unslothai/notebooks#251 (Gemma trained without BOS)
- Xiao et al., arXiv:2309.17453 (attention rests on the first tokens)
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Severity
from ftlab.rules.reading.samples import samples_of
from ftlab.rules.reading.turns import (
    NEEDS,
    OPENINGS,
    TurnSight,
    has_turns,
    template_of,
    turn_places,
    turn_sights,
)
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run

SAMPLES, SHARE = 4, 0.9
"""Samples, and the share of those with turns, that begin with an opening."""


class BosMissing(Rule):
    """Finds conversations without a beginning."""

    code = "DAT019"
    name = "bos-missing"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def applies(self, run: Run) -> bool:
        """Tell whether there are turns, or nothing is known of the run."""
        return not run.facts.model or has_turns(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for all samples."""
        facts, samples = template_of(run), samples_of(run)
        begin = samples.ids("bos")
        held = {c.id for each in samples.sights for c in each.sample.controls}
        if facts is None or not facts.repeats_bos or not begin or begin & held:
            return
        known = turn_sights(run)
        opened = [each for each in known if _begins_with_an_opening(each)]
        if len(opened) >= max(SAMPLES, SHARE * len(known)):
            yield self._finding(opened, samples.piece(min(begin)))

    def _finding(self, opened: list[TurnSight], bos: str) -> Finding:
        steps = [each.step for each in opened]
        first = opened[0].sample
        return self.finding(
            Severity.WARNING,
            f"{at_steps(min(steps), max(steps))}: none of {len(opened)} samples begins "
            f"with {bos}, which the template writes and the tokenizer adds",
            cause="BOS was taken out of the rendered text, or the template left aside, "
            "and add_special_tokens=False kept the tokenizer from adding it.",
            fix="apply_chat_template(..., tokenize=True), or add_special_tokens=True "
            "for text that was rendered without BOS.",
            places=turn_places(
                [(each, each.sample.turns[0]) for each in opened],
                lambda turn: turn.start,
            ),
            steps=(min(steps), max(steps)),
            evidence={
                "samples": len(opened),
                "threshold": SHARE,
                "token": bos,
                "sample": first.row,
                "position": first.start,
            },
            healthy="one BOS in front of every conversation",
        )


def _begins_with_an_opening(sight: TurnSight) -> bool:
    first = sight.sample.turns[0]
    return first.part in OPENINGS and first.start == sight.sample.start
