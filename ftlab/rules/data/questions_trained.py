"""The rule DAT030, questions-trained.

## What it does
Finds labels that count within the texts of users, systems and tools, and samples in
which the marker of an answer stands once more within what is trained.

## Why is this bad?
The model learns to write questions as well as answers. Where that was not wanted, it
answers worse and goes on in the user's place; where the mask only leaks, or begins
behind the first `### Response:` that a user has pasted, some rows teach something else
than others.

## Evidence
The turns of samples, found in their ids by what the chat template writes around
messages, and their labels. *leak*: a question behind an answer is trained, the one
before it is not. *marker*: the labels begin within the text of a question and go on to
its end. *asked*: `assistant_only_loss` or `completion_only_loss` was asked for, and
questions are trained. *whole*: all of a conversation is trained, as far as was seen.
*marker-again*, without turns: of 4 different samples at least whose labels begin within
the text, 90 % have the same two and more tokens before their first label, which stand
once more in at least 1 sample, all of them with labels. Labels that are made turn by
turn leave the marker of each turn out; a colon alone is met in any text.
Measured: `return_assistant_tokens_mask` of transformers 5.23 marks the next question
too where the text of a span ends on whitespace that the tokenizer strips; labels behind
the first `### Answer` of conversations of two turns hold the second one in each of 16
rows, labels turn by turn in none; of 16 rows of which 4 have a marker in the question,
in these 4.
By hand: `ftlab.tokens(batch=batch, tokenizer=tokenizer)` shows turns and labels.

## What to try
1. `assistant_only_loss=True` with a template that has `{% generation %}`, or columns
   "prompt" and "completion".
2. Masks by message boundaries, not by searching for a string; else the last marker of a
   row that holds one question, the marker of each turn of others.

## Known problems
Training whole conversations is legal and usual: *whole* is a note, the others are
warnings. Who trains on all that follows the first prompt, on purpose, is warned; an
answer that quotes the marker looks the same.

## References
- huggingface/transformers#47326 (the mask runs on behind its span)
- TRL, SFTConfig, `assistant_only_loss`; LlamaFactory, Axolotl: `train_on_inputs`
- huggingface/trl#3223, #1184 (markers of turns that do not alternate)
"""

from collections import Counter

from ftlab.records.sample_facts import SampleFacts
from ftlab.records.turn_facts import SampleTurns, TurnFacts
from ftlab.rules.reading.asked import asked
from ftlab.rules.reading.samples import Samples, is_causal, samples_of
from ftlab.rules.reading.token_rules import SampleRule, Turns
from ftlab.rules.reading.turns import ANSWERS, TurnSight, turn_sights
from ftlab.rules.rule import Finding, Place, Results, Run, Severity

SETTINGS = ("assistant_only_loss", "completion_only_loss")

SAMPLES, SHARE, LEAST = 4, 0.9, 2
"""Samples, the share of them that has the marker, and its tokens."""

_CAUSES = {
    "leak": "The mask of an answer runs on into the question behind it.",
    "marker": "What is searched for as the beginning of the answer stands in the "
    "question as well.",
    "asked": "A loss on answers alone was asked for, and the labels do not know of it.",
    "whole": "Labels are a copy of the ids: nothing marks the answers.",
}


class QuestionsTrained(SampleRule):
    """Finds labels within questions."""

    code = "DAT030"
    caused_by = ("ENV008", "DAT022")

    def check(self, run: Run) -> Results:
        """Yield one finding for the first reason that holds; else for a marker."""
        sights = turn_sights(run)
        setting = next((s for s in SETTINGS if asked(run).get(s) is True), "")
        trained = [(s, t) for s in sights for t in _questions(s.sample) if t.trained]
        leaks = [(s, t) for s, t in trained if _leaks(s.sample, t)]
        late = [(s, t) for s, t in trained if t.first > t.start and _to_its_end(t)]
        if leaks:
            yield self._finding(run, "leak", leaks, sights)
        elif late:
            yield self._finding(run, "marker", late, sights)
        elif trained:
            reason = "asked" if setting else "whole"
            yield self._finding(run, reason, trained, sights, setting)
        if not leaks and not late:
            yield from self._again(samples_of(run))

    def _finding(
        self,
        run: Run,
        reason: str,
        found: Turns,
        sights: list[TurnSight],
        setting: str = "",
    ) -> Finding:
        count = sum(turn.trained for _, turn in found)
        total = sum(sight.sample.trained for sight in sights)
        roles = " and ".join(dict.fromkeys(turn.role for _, turn in found))
        return self.of_turns(
            run,
            f"{count} of {total} labels are within texts of {roles}",
            found,
            lambda turn: turn.first,
            severity=Severity.INFO if reason == "whole" else Severity.WARNING,
            cause=_CAUSES[reason],
            fix="assistant_only_loss=True with a template that marks answers by "
            "{% generation %}, or columns prompt and completion.",
            reason=reason,
            evidence={"labels": count, "share": count / max(total, 1)},
            healthy="labels within answers alone, where these are to be learnt",
            before=[Place("config", setting)] if setting else [],
        )

    def _again(self, samples: Samples) -> Results:
        known = samples.where(lambda e: is_causal(e) and len(e.border) > LEAST)
        marker = _marker([each.sample for each in known])
        sick = [each for each in known if marker and each.sample.again >= len(marker)]
        if not sick:
            return
        first = sick[0].sample
        yield self.of_samples(
            f"labels begin behind {' '.join(map(samples.piece, marker))}, which stands "
            f"once more within what is trained in {len(sick)} of {len(known)} samples, "
            f"in sample {first.row} up to token {first.again_at - 1}",
            sick,
            lambda each: each.again_at - len(marker),
            cause="Labels begin behind the first marker of a row: it stands in the "
            "text of a user, or further turns follow.",
            fix="Mask turn by turn, by the chat template's own {% generation %} or by "
            "roles; search the last marker where a row holds one answer.",
            reason="marker-again",
            evidence={
                "samples": len(sick),
                "of": len(known),
                "threshold": 1,
                "tokens": len(marker),
            },
            healthy="no marker of an answer within what is trained",
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


def _marker(samples: list[SampleFacts]) -> tuple[int, ...]:
    """Return what comes before the first label in nearly all samples."""
    if len(samples) < SAMPLES:
        return ()
    befores = [each.border[:-1] for each in samples]
    for length in range(max(map(len, befores)), LEAST - 1, -1):
        ((found, count),) = Counter(b[-length:] for b in befores).most_common(1)
        if count >= SHARE * len(samples) and len(found) == length:
            return found
    return ()
