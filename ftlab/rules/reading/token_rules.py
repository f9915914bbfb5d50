"""What rules that name tokens of samples have in common: needs, places, evidence."""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from ftlab.records.sample_facts import SampleFacts
from ftlab.records.turn_facts import TurnFacts
from ftlab.rules.reading.samples import Sight, steps_of, token_places, without_tokens
from ftlab.rules.reading.turns import (
    NEEDS as TURNS,
    TurnSight,
    has_turns,
    turn_places,
    turn_sights,
)
from ftlab.rules.rule import Finding, Need, Needs, Place, Rule, Severity, to_runs_with
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run

Evidence = Mapping[str, float | int | str]

Turns = Sequence[tuple[TurnSight, TurnFacts]]
"""Turns, each with the sample that holds it."""


TOKENS = Need(
    "samples of the batches",
    "ftlab.watch(...) of a model that is given input_ids",
    lambda run: any(event.kind in ("rows", "turns") for event in run.whole.events),
    absent=without_tokens,
)


def _told(reason: str, evidence: Evidence) -> dict[str, float | int | str]:
    return {"reason": reason, **evidence} if reason else dict(evidence)


class SampleRule(Rule):
    """A rule about the tokens of samples, their turns among them."""

    requires: ClassVar[Needs] = TOKENS

    def of_samples(
        self,
        says: str,
        found: Sequence[Sight],
        at: Callable[[SampleFacts], int],
        *,
        severity: Severity = Severity.WARNING,
        cause: str,
        fix: str,
        reason: str = "",
        evidence: Evidence,
        healthy: str,
        settings: Sequence[Place] = (),
    ) -> Finding:
        """Make a finding about one token of each of these samples."""
        steps, first = steps_of(found), found[0].sample
        return self.finding(
            severity,
            f"{at_steps(*steps)}: {says}",
            cause=cause,
            fix=fix,
            places=[*settings, *token_places(found, at)],
            steps=steps,
            evidence={
                **_told(reason, evidence),
                "sample": first.row,
                "position": at(first),
            },
            healthy=healthy,
        )

    def of_turns(
        self,
        run: Run,
        says: str,
        found: Turns,
        at: Callable[[TurnFacts], int],
        *,
        severity: Severity = Severity.WARNING,
        cause: str,
        fix: str,
        reason: str = "",
        evidence: Evidence,
        healthy: str,
        before: Sequence[Place] = (),
        behind: Sequence[Place] = (),
    ) -> Finding:
        """Make a finding about one token of each of these turns.

        Where there are none it is about all samples: what a template does to each.
        """
        seen = [sight for sight, _ in found] or turn_sights(run)
        steps = [sight.step for sight in seen] or [0]
        about = _told(reason, evidence)
        if found:
            sight, turn = found[0]
            about |= {"sample": sight.sample.row, "position": at(turn)}
        return self.finding(
            severity,
            f"{at_steps(min(steps), max(steps))}: {says}",
            cause=cause,
            fix=fix,
            places=[*before, *turn_places(found, at), *behind],
            steps=(min(steps), max(steps)),
            evidence=about,
            healthy=healthy,
        )


class TurnRule(SampleRule):
    """A rule about the turns of samples."""

    requires: ClassVar[Needs] = TURNS
    applies = to_runs_with(has_turns)
