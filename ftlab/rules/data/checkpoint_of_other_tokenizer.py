"""The rule DAT072, checkpoint-of-other-tokenizer.

## What it does
Finds checkpoints whose folder holds another tokenizer than the one that the model was
trained with.

## Why is this bad?
Who loads the checkpoint gives the model ids that stand for other pieces. It answers,
and worse; no shape is wrong.

## Evidence
`save_pretrained` of a tokenizer that is not the run's, into a folder in which the run's
model or tokenizer was saved: fingerprints of both, found where what decides on ids
differs (vocabulary, merges, model, normaliser, pre-tokeniser). And when watching ends,
the folder that was saved last is loaded again: what decides on ids, what is put around
a text, and special and added tokens must be those of the run's tokenizer. There is no
threshold. Measured with transformers 5.23: fast and slow tokenizers (BPE, byte-level,
WordPiece, Unigram, SentencePiece) come back with the same digest. A copy with another
chat template or other padding is healthy.
By hand: `ftlab.fingerprint(checkpoint)`.

## What to try
1. Save the run's tokenizer: `tokenizer.save_pretrained(folder)`, or pass it to the
   Trainer as `processing_class`.
2. Save into an empty folder: old files such as `special_tokens_map.json` are read too.

## Known problems
What is saved when watching is over is not seen; its folder has the fingerprint where
`trainer.save_model` wrote it, and `ftlab.fingerprint(folder)` compares it.

## References
- transformers, `Trainer(processing_class=...)`
"""

from collections.abc import Iterator, Mapping

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.folder_news import FolderNews, Matter
from ftlab.rules.reading.tokenizer_folder import (
    IDS,
    folder_news,
    is_told,
)
from ftlab.rules.rule import Need, Rule
from ftlab.runlog.run import Run

PARTS: Mapping[Matter, frozenset[str]] = {
    "saved": frozenset(IDS),
    "read back": frozenset({*IDS, "post-processor", "special tokens", "added tokens"}),
}
"""Parts of a fingerprint that must be the same: of another tokenizer those that decide
on ids, of the run's own all that a text goes through."""


class CheckpointOfOtherTokenizer(Rule):
    """Finds checkpoints with a tokenizer that was not trained with."""

    code = "DAT072"
    name = "checkpoint-of-other-tokenizer"
    since = "0.1.0"
    status = "preview"
    requires = (
        Need(
            "a tokenizer that was saved while it was watched",
            "tokenizer.save_pretrained(folder) or a checkpoint, within the watch",
            lambda run: bool(folder_news(run, *PARTS)),
        ),
    )

    def applies(self, run: Run) -> bool:
        """Tell whether a folder was read, or nothing is known of the run."""
        return is_told(run, *PARTS)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for each folder."""
        for step, news in folder_news(run, *PARTS):
            parts = [each for each in news.parts if each in PARTS[news.matter]]
            if parts:
                yield self._finding(step, news, parts)

    def _finding(self, step: int, news: FolderNews, parts: list[str]) -> Finding:
        why = (
            "Another tokenizer was saved in the folder."
            if news.matter == "saved"
            else "Saving has lost something, or files that were there before are "
            "read with the new ones."
        )
        return self.finding(
            Severity.ERROR,
            f"{news.folder}: its tokenizer is not the one that was trained with, in "
            f"{', '.join(parts)}",
            cause=why,
            fix="tokenizer.save_pretrained(empty_folder) of the run's tokenizer, or "
            "Trainer(processing_class=tokenizer).",
            places=[Place("file", news.folder)],
            steps=(step, step),
            evidence={"reason": news.matter, "parts": ", ".join(parts)},
            healthy="the fingerprint of the run's tokenizer",
        )
