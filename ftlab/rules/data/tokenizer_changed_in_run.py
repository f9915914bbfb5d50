"""The rule DAT070, tokenizer-changed-in-run.

## What it does
Finds a tokenizer that turns texts into other ids from some step of the run on.

## Why is this bad?
The embedding has learnt what each id stands for, and what comes now stands for
something else. Texts that are tokenised on the way, evaluations and what is saved at
the end belong to the new one; what was learnt belongs to the old one.

## Evidence
The tokenizer's fingerprint at the steps at which probes look. Found where the
vocabulary, merges, model settings, normaliser or pre-tokeniser are no longer what they
were, BOS or EOS is another token, or a new added token is a piece of usual words, so
that these have other ids. There is no threshold. The reason is `reloaded`
where the folder that it was loaded from holds the new one, and `changed` elsewhere.
Tokens that are only added, all others as they were, are healthy: the vocabulary has
grown by as many ids as there are new added tokens. So are padding and truncation, which
go to and fro with each evaluation, another chat template, a padding token that is named
late, and what is put around a text: `src_lang` of NLLB and mBART changes that with each
batch.
By hand: `ftlab.fingerprint(tokenizer)` before and after.

## What to try
1. Find what reloads or edits the tokenizer (a callback, a server in the same process),
   and let it work on a copy.
2. Begin anew with the new tokenizer: what was trained before is of no use to it.

## Known problems
Exchanged pieces are noticed after 64 looks at the latest, so some steps late. Pieces
that move in the very step in which tokens are added are taken for added ones: of a
vocabulary there is a digest alone.

## References
- `ftlab.tokenizer_diff`
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ftlab.records.event import Event
from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.fingerprint import Fingerprint
from ftlab.rules.reading.tokenizer_folder import IDS
from ftlab.rules.rule import Need, Rule
from ftlab.runlog.run import Run

MARKS = ("bos_token", "eos_token", "bos_token_id", "eos_token_id")
"""Special tokens of which there must not be another one on the way."""


@dataclass(frozen=True, slots=True)
class _Change:
    """What one event says has changed, and the tokenizers before and after it."""

    event: Event
    before: Fingerprint
    after: Fingerprint


def _told(run: Run) -> list[Event]:
    return [each for each in run.whole.events if each.kind == "tokenizer"]


class TokenizerChangedInRun(Rule):
    """Finds tokenizers that change while the run goes on."""

    code = "DAT070"
    name = "tokenizer-changed-in-run"
    since = "0.1.0"
    status = "preview"
    requires = (
        Need(
            "the fingerprint of its tokenizer",
            "ftlab.watch(trainer), or ftlab.watch(model, tokenizer=...)",
            lambda run: bool(_told(run)),
        ),
    )

    def applies(self, run: Run) -> bool:
        """Tell whether there is a tokenizer, or nothing is known of the run."""
        return not run.facts.model or bool(_told(run))

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for the first change that texts notice."""
        for change in _changes(run):
            if parts := _harmful(change):
                yield self._finding(change.event, parts)
                return

    def _finding(self, event: Event, parts: list[str]) -> Finding:
        detail: Mapping[str, Any] = event.detail
        reloaded = detail.get("reloaded")
        folder = str(detail.get("folder", "its folder"))
        where = f"; it is what {folder} holds now" if reloaded else ""
        return self.finding(
            Severity.ERROR,
            f"{_since(event)}: the tokenizer is no longer the one that the run began "
            f"with, in {', '.join(parts)}{where}",
            cause="It was reloaded, replaced or edited while the run went on.",
            fix="Let what reloads it work on a copy, or begin the run anew with the "
            "new tokenizer.",
            places=[Place("object", "tokenizer")],
            steps=(event.step, event.step),
            evidence={
                "reason": "reloaded" if reloaded else "changed",
                "parts": ", ".join(parts),
                "digest": str(detail["digest"]),
            },
            healthy="one fingerprint for all steps",
        )


def _changes(run: Run) -> Iterator[_Change]:
    known: dict[str, Fingerprint] = {}
    before = None
    for event in _told(run):
        digest = event.detail["digest"]
        if "fingerprint" in event.detail:
            known[digest] = Fingerprint.from_json(event.detail["fingerprint"])
        after = known.get(digest)
        if before is not None and after is not None:
            yield _Change(event, before, after)
        before = after


def _harmful(change: _Change) -> list[str]:
    """Name the parts that give texts other ids than before."""
    parts = [each for each in change.event.detail["changed"] if each in IDS]
    if _only_added(change):
        parts = [each for each in parts if each != "vocabulary"]
    elif "added tokens" in change.event.detail["changed"] and not parts:
        parts = ["added tokens"] * bool(change.event.detail.get("other_ids"))
    marks = [
        each.entry
        for each in change.before.changes(change.after)
        if each.part == "special tokens" and each.entry in MARKS and each.left
    ]
    return parts + [each for each in marks if not each.endswith("_id")]


def _since(event: Event) -> str:
    """Say when it changed: probes look every few steps."""
    looked = int(event.detail.get("looked", event.step - 1))
    between = 0 <= looked < event.step - 1
    return f"steps {looked} to {event.step}" if between else f"step {event.step}"


def _only_added(change: _Change) -> bool:
    """Tell whether the vocabulary has grown by the new added tokens, and no more."""
    sizes = [
        each.parts["vocabulary"].size if "vocabulary" in each.parts else 0
        for each in (change.before, change.after)
    ]
    old, new = (_added(each) for each in (change.before, change.after))
    grown = len(new) - len(old)
    return grown > 0 and old.items() <= new.items() and sizes[1] - sizes[0] == grown


def _added(fingerprint: Fingerprint) -> Mapping[str, str]:
    part = fingerprint.parts.get("added tokens")
    return {} if part is None else part.entries
