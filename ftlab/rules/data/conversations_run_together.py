"""The rule DAT046, conversations-run-together.

## What it does
Finds rows in which one conversation follows another, and nothing tells the model so:
neither positions that begin again, nor a mask.

## Why is this bad?
Each answer but the first is learnt with the conversations of strangers in front of it,
at positions that it will not have later. The loss looks well, better than without: what
was said before helps.

## Evidence
The turns of some samples, documents that positions tell counted as samples of their
own. A conversation begins within a sample where, behind an answer, what the template
writes before the first turn of a conversation stands again, or where each question but
the first comes behind a system message of its own (0.9 of them). Threshold: 2 of these.
Measured: rows of 8 conversations without position_ids hold 7 more beginnings; with
positions that begin again none. Conversations of several turns have none.
By hand: `tokenizer.decode(batch["input_ids"][0])`.

## What to try
1. `packing_strategy="bfd"`, `padding_free=True` or `DataCollatorWithFlattening`.
2. Positions that begin again at each conversation, and no `attention_mask` beside them.
3. One conversation to a row.

## Known problems
Some train so on purpose, for the speed of kernels without masks: with
`packing_strategy="wrapped"`, which does just this, it is a note. Nothing is said where
a 4-D mask, `cu_seq_lens` or an argument of one's own may keep documents apart, nor of
templates that begin a conversation as they go on with one. Plain documents: DAT007.

## References
- hiyouga/LlamaFactory#2289, #4224, huggingface/trl#784, #805
- MeetKai/functionary#265
"""

from collections.abc import Iterator

from ftlab.records.turn_facts import SampleTurns, TurnFacts
from ftlab.rules.reading.asked import asked
from ftlab.rules.reading.attention import NEEDS as ATTENTION, looks
from ftlab.rules.reading.token_rules import TurnRule
from ftlab.rules.reading.turns import ANSWERS, NEEDS, template_of, turn_sights
from ftlab.rules.rule import Results, Run, Severity

LEAST = 2
"""Conversations that begin within samples; one may be quoted in another."""

EACH = 0.9
"""Share of the later questions that have a system message of their own."""


class ConversationsRunTogether(TurnRule):
    """Finds conversations behind each other that nothing keeps apart."""

    code = "DAT046"
    requires = (NEEDS, ATTENTION)
    caused_by = ("EXP002", "DAT023")

    def check(self, run: Run) -> Results:
        """Yield one finding for all samples."""
        if any(look.detail.get("apart") for look in looks(run)):
            return
        sights = turn_sights(run)
        template = template_of(run)
        written = _lengths([each.sample for each in sights])
        begins = template is not None and template.beginning
        found = [
            (sight, turn)
            for sight in sights
            for turn in _begun(sight.sample)
            if begins and turn.part == "added" and turn.end - turn.start in written
        ]
        if not found:
            later = [(sight, turn) for sight in sights for turn in _later(sight.sample)]
            found = [(sight, turn) for sight, turn in later if turn.role == "system"]
            found = found if len(found) >= EACH * len(later) else []
        if len(found) < LEAST:
            return
        sight, turn = found[0]
        meant = asked(run).get("packing_strategy") == "wrapped"
        yield self.of_turns(
            run,
            f"{len(found)} conversations begin within samples, the first at token "
            f"{turn.start} of row {sight.sample.row}, and nothing keeps them apart",
            found,
            lambda turn: turn.start,
            severity=Severity.INFO if meant else Severity.WARNING,
            cause="Conversations are laid end to end, with positions that run on.",
            fix="Pass position_ids that begin again at each conversation, and no "
            "attention_mask beside them.",
            evidence={"conversations": len(found), "threshold": LEAST},
            healthy="one conversation to a sample, or positions that begin again",
        )


def _lengths(samples: list[SampleTurns]) -> set[int]:
    """Return how long what begins a conversation is, where samples begin with it."""
    firsts = (s.turns[0] for s in samples if s.turns[0].start == s.start)
    return {turn.end - turn.start for turn in firsts if turn.part == "added"}


def _begun(sample: SampleTurns) -> Iterator[TurnFacts]:
    """Yield what stands between an answer and the turn behind it."""
    for before, turn, after in zip(
        sample.turns, sample.turns[1:], sample.turns[2:], strict=False
    ):
        if before.role == ANSWERS and not turn.role and after.part == "header":
            yield turn


def _later(sample: SampleTurns) -> Iterator[TurnFacts]:
    """Yield the first opening behind each answer that a question comes after."""
    opened: TurnFacts | None = None
    answered = False
    for turn in sample.turns:
        if turn.role == ANSWERS:
            opened, answered = None, True
        elif answered and turn.part == "header":
            opened = opened or turn
            if turn.role == "user":
                yield opened
