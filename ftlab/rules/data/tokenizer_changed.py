"""The rule DAT070, tokenizer-changed.

## What it does
Finds tokenizers that are not the one that the run began with: it turns texts into other
ids from some step on, files of the folder that it was loaded from have changed, or a
checkpoint holds another one.

## Why is this bad?
The embedding has learnt what each id stands for, and what comes now stands for
something else. Texts that are tokenised on the way belong to the new one; what was
learnt to the old one. Whoever resumes, evaluates or serves loads from the folder, and
gets other ids or another template for the same text. It answers, and worse; no shape is
wrong.

## Evidence
Fingerprints of tokenizers; there is no threshold. What decides on ids is the
vocabulary, merges, model settings, normaliser and pre-tokeniser.
- *changed*, *reloaded* (its folder holds the new one): at the steps at which probes
  look, what decides on ids is no longer what it was, BOS or EOS is another token, or a
  new added token is a piece of usual words. Tokens that are only added are healthy: the
  vocabulary has grown by as many ids. So are padding and truncation, another chat
  template, a padding token that is named late, and what is put around a text:
  `src_lang` of NLLB and mBART changes that with each batch.
- *changed-on-disk*: size, time and inode of the tokenizer's own files, and digests of
  their entries. Then the folder is loaded, and told where a part differs that the
  changed entries can decide on: ids, special tokens, added tokens, or the template. A
  run that saves its own tokenizer there is healthy, and so are files that were copied
  over themselves, or written in another style.
- *saved*: `save_pretrained` of a tokenizer that decides otherwise on ids, into a folder
  in which the run's model or tokenizer was saved. *read back*: when watching ends, the
  folder that was saved last is loaded again: ids, what is put around a text, and
  special and added tokens must be the run's. Measured with transformers 5.23: fast and
  slow tokenizers (BPE, byte-level, WordPiece, Unigram, SentencePiece) come back with
  the same digest. Another chat template or other padding is healthy.

By hand: `ftlab.fingerprint` of the tokenizer before and after, and of the checkpoint,
and `ftlab.tokenizer_diff(folder, tokenizer)`.

## What to try
1. Find what reloads or edits the tokenizer (a callback, a server in the same process),
   and let it work on a copy; or begin anew with the new tokenizer.
2. Put the files back, and load models from a revision (`revision="..."`) that nobody
   writes to.
3. `tokenizer.save_pretrained(empty_folder)`, or the Trainer's `processing_class`: old
   files such as `special_tokens_map.json` are read too.

## Known problems
Exchanged pieces are noticed after 64 looks at the latest; those that move in the very
step in which tokens are added are taken for added ones. Files that are changed and put
back between two looks are not seen, nor what is saved when watching is over.

## References
- `ftlab.tokenizer_diff`
- transformers, `PreTrainedTokenizerBase.save_pretrained`, `Trainer(processing_class)`
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ftlab.records.event import Event
from ftlab.records.fingerprint import Fingerprint
from ftlab.records.folder_news import FolderNews, Matter
from ftlab.rules.reading.tokenizer_folder import IDS, folder_news
from ftlab.rules.rule import Finding, Need, Results, Rule, Run, Severity, to_runs_with
from ftlab.rules.words import listed

MARKS = ("bos_token", "eos_token", "bos_token_id", "eos_token_id")
"""Special tokens of which there must not be another one on the way."""

MARKED = frozenset({*IDS, "special tokens", "added tokens"})

PARTS: Mapping[Matter, frozenset[str]] = {
    "changed": MARKED | {"chat template"},
    "saved": frozenset(IDS),
    "read back": MARKED | {"post-processor"},
}
"""Parts of a fingerprint that must be the same: of another tokenizer those that decide
on ids, of the run's own all that a text goes through."""

_WORDS: Mapping[Matter, tuple[str, str, str]] = {
    "changed": (
        "Something writes into the folder that the tokenizer was loaded from, while "
        "the run goes on with what it had loaded.",
        "Put the files back, or keep the run's tokenizer with its checkpoints: "
        "tokenizer.save_pretrained(output_dir).",
        "files that stay as they were loaded",
    ),
    "saved": (
        "Another tokenizer was saved in the folder.",
        "tokenizer.save_pretrained(empty_folder) of the run's tokenizer, or "
        "Trainer(processing_class=tokenizer).",
        "the fingerprint of the run's tokenizer",
    ),
    "read back": (
        "Saving has lost something, or files that were there before are read with the "
        "new ones.",
        "tokenizer.save_pretrained(empty_folder) of the run's tokenizer, or "
        "Trainer(processing_class=tokenizer).",
        "the fingerprint of the run's tokenizer",
    ),
}
"""By what became of a folder: why, what to do, and how it should be."""


@dataclass(frozen=True, slots=True)
class _Change:
    """What one event says has changed, and the tokenizers before and after it."""

    event: Event
    before: Fingerprint
    after: Fingerprint


def _told(run: Run) -> list[Event]:
    return [each for each in run.whole.events if each.kind == "tokenizer"]


def _is_known(run: Run) -> bool:
    return bool(_told(run)) or bool(folder_news(run))


class TokenizerChanged(Rule):
    """Finds tokenizers that change while the run goes on, or where it is saved."""

    code = "DAT070"
    requires = Need(
        "the fingerprint of its tokenizer",
        "ftlab.watch(trainer), or ftlab.watch(model, tokenizer=...)",
        _is_known,
    )
    applies = to_runs_with(_is_known)

    def check(self, run: Run) -> Results:
        """Yield one finding for the run, one for files, and one for each checkpoint."""
        for change in _changes(run):
            if parts := _harmful(change):
                yield self._in_run(change.event, parts)
                break
        news = [
            *folder_news(run, "changed")[-1:],
            *folder_news(run, "saved", "read back"),
        ]
        for step, each in news:
            if parts := [part for part in each.parts if part in PARTS[each.matter]]:
                yield self._on_disk(step, each, ", ".join(parts))

    def _in_run(self, event: Event, parts: list[str]) -> Finding:
        reloaded = event.detail.get("reloaded")
        folder = str(event.detail.get("folder", "its folder"))
        where = f"; it is what {folder} holds now" if reloaded else ""
        return self.error(
            f"{_since(event)}: the tokenizer is no longer the one that the run began "
            f"with, in {', '.join(parts)}{where}",
            cause="It was reloaded, replaced or edited while the run went on.",
            fix="Let what reloads it work on a copy, or begin the run anew with the "
            "new tokenizer.",
            places={"object": "tokenizer"},
            steps=(event.step, event.step),
            reason="reloaded" if reloaded else "changed",
            evidence={"parts": ", ".join(parts), "digest": str(event.detail["digest"])},
            healthy="one fingerprint for all steps",
        )

    def _on_disk(self, step: int, news: FolderNews, parts: str) -> Finding:
        cause, fix, healthy = _WORDS[news.matter]
        source = news.matter == "changed"
        return self.finding(
            Severity.WARNING if source else Severity.ERROR,
            f"step {step}: {listed(news.files)} in {news.folder} changed under the "
            f"run; what is loaded now differs in {parts}"
            if source
            else f"{news.folder}: its tokenizer is not the one that was trained with, "
            f"in {parts}",
            cause=cause,
            fix=fix,
            places={"file": news.files if source else [news.folder]},
            steps=(step, step),
            reason="changed-on-disk" if source else news.matter,
            evidence={"parts": parts},
            healthy=healthy,
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
