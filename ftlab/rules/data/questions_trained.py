"""The rule DAT030, questions-trained.

## What it does
Finds labels that count within the texts of users, systems and tools.

## Why is this bad?
The model learns to write questions as well as answers. Where that was not wanted, it
answers worse and goes on in the user's place; where the mask only leaks, some rows
teach something else than others.

## Evidence
The turns of samples, found in their ids by what the chat template writes around
messages, and their labels. *leak*: a question behind an answer is trained, the one
before it is not. *marker*: the labels begin within the text of a question and go on to
its end. *asked*: `assistant_only_loss` or `completion_only_loss` was asked for, and
questions are trained. *whole*: all of a conversation is trained, as far as was seen.
Measured: `return_assistant_tokens_mask` of transformers 5.23 marks the next question
too where the text of a span ends on whitespace that the tokenizer strips; a marker
"### Response:" that also occurs within a question trains from there on.
By hand: `ftlab.tokens(batch=batch, tokenizer=tokenizer)` shows turns and labels.

## What to try
1. `assistant_only_loss=True` with a template that has `{% generation %}`.
2. Columns "prompt" and "completion".
3. Masks by message boundaries, not by searching for a string.

## Known problems
Training whole conversations is legal and usual: *whole* is a note, the others are
warnings. Whether a part of a question was meant to be trained cannot be known.

## References
- huggingface/transformers#47326 (the mask runs on behind its span)
- TRL, SFTConfig, `assistant_only_loss`
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.turn_facts import SampleTurns, TurnFacts
from ftlab.rules.reading.asked import asked
from ftlab.rules.reading.turns import (
    ANSWERS,
    NEEDS,
    TurnSight,
    has_turns,
    turn_places,
    turn_sights,
)
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run

SETTINGS = ("assistant_only_loss", "completion_only_loss")

Found = list[tuple[TurnSight, TurnFacts]]

_CAUSES = {
    "leak": "The mask of an answer runs on into the question behind it.",
    "marker": "What is searched for as the beginning of the answer stands in the "
    "question as well.",
    "asked": "A loss on answers alone was asked for, and the labels do not know of it.",
    "whole": "Labels are a copy of the ids: nothing marks the answers.",
}


class QuestionsTrained(Rule):
    """Finds labels within questions."""

    code = "DAT030"
    name = "questions-trained"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)
    caused_by = ("ENV008", "DAT014")

    def applies(self, run: Run) -> bool:
        """Tell whether there are turns, or nothing is known of the run."""
        return not run.facts.model or has_turns(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for the first reason that holds."""
        sights = turn_sights(run)
        setting = next((s for s in SETTINGS if asked(run).get(s) is True), "")
        trained = [(s, t) for s in sights for t in _questions(s.sample) if t.trained]
        leaks = [(s, t) for s, t in trained if _leaks(s.sample, t)]
        late = [(s, t) for s, t in trained if t.first > t.start and _to_its_end(t)]
        if leaks:
            yield self._finding("leak", leaks, sights)
        elif late:
            yield self._finding("marker", late, sights)
        elif trained:
            reason = "asked" if setting else "whole"
            yield self._finding(reason, trained, sights, setting)

    def _finding(
        self, reason: str, found: Found, sights: list[TurnSight], setting: str = ""
    ) -> Finding:
        steps = [sight.step for sight, _ in found]
        count = sum(turn.trained for _, turn in found)
        total = sum(sight.sample.trained for sight in sights)
        places = turn_places(found, lambda turn: turn.first)
        if setting:
            places = [Place("config", setting), *places]
        sight, turn = found[0]
        return self.finding(
            Severity.INFO if reason == "whole" else Severity.WARNING,
            f"{at_steps(min(steps), max(steps))}: {count} of {total} labels are within "
            f"texts of {_roles(found)}",
            cause=_CAUSES[reason],
            fix="assistant_only_loss=True with a template that marks answers by "
            "{% generation %}, or columns prompt and completion.",
            places=places,
            steps=(min(steps), max(steps)),
            evidence={
                "reason": reason,
                "labels": count,
                "share": count / max(total, 1),
                "sample": sight.sample.row,
                "position": turn.first,
            },
            healthy="labels within answers alone, where these are to be learnt",
        )


def _questions(sample: SampleTurns) -> list[TurnFacts]:
    """List the texts that the model does not write."""
    return [t for t in sample.turns if t.part == "text" and t.role not in {ANSWERS, ""}]


def _leaks(sample: SampleTurns, turn: TurnFacts) -> bool:
    """Tell whether a question behind an answer is trained, and none before it."""
    answers = [t.start for t in sample.turns if t.role == ANSWERS and t.trained]
    if not answers or turn.start < answers[0]:
        return False
    before = [t for t in _questions(sample) if t.start < answers[0]]
    return bool(before) and not any(t.trained for t in before)


def _to_its_end(turn: TurnFacts) -> bool:
    return turn.trained == turn.end - turn.first


def _roles(found: Found) -> str:
    return " and ".join(dict.fromkeys(turn.role for _, turn in found))
