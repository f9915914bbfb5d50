"""The rule DAT071, tokenizer-folder-changed.

## What it does
Finds files of the folder that the run's tokenizer was loaded from that changed while
the run went on, so that what is loaded now is another tokenizer.

## Why is this bad?
The run goes on with the old one. Whoever resumes it, evaluates it or serves it loads
from the same folder, and gets other ids or another template for the same text.

## Evidence
At the steps at which probes look: size, time and inode of the tokenizer's own files,
and digests of the entries of those that differ. Then the folder is loaded, and its
fingerprint compared with that of the run's tokenizer. Found where a part differs that
the changed entries can decide on: ids, special tokens, added tokens, or the template.
A run that saves its own tokenizer there is healthy, and so are files that were copied
over themselves, or written in another style.
By hand: `ftlab.tokenizer_diff(folder, tokenizer)`.

## What to try
1. Put the files back, or save the run's tokenizer beside its checkpoints:
   `tokenizer.save_pretrained(output_dir)`.
2. Load models from a revision (`revision="..."`) that nobody writes to.

## Known problems
Files that are changed and put back between two looks are not seen.

## References
- transformers, `PreTrainedTokenizerBase.save_pretrained`
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.folder_news import FolderNews
from ftlab.rules.reading.tokenizer_folder import (
    IDS,
    NEEDS_FILES,
    folder_news,
    is_told,
)
from ftlab.rules.rule import Rule
from ftlab.rules.words import listed
from ftlab.runlog.run import Run

PARTS = frozenset({*IDS, "special tokens", "added tokens", "chat template"})
"""Parts of a fingerprint whose change is told."""


class TokenizerFolderChanged(Rule):
    """Finds files of the tokenizer that change under a run."""

    code = "DAT071"
    name = "tokenizer-folder-changed"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS_FILES,)

    def applies(self, run: Run) -> bool:
        """Tell whether a folder was read, or nothing is known of the run."""
        return is_told(run, "read")

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for the last change."""
        for step, news in folder_news(run, "changed")[-1:]:
            parts = [each for each in news.parts if each in PARTS]
            if parts:
                yield self._finding(step, news, parts)

    def _finding(self, step: int, news: FolderNews, parts: list[str]) -> Finding:
        return self.finding(
            Severity.WARNING,
            f"step {step}: {listed(news.files)} in {news.folder} changed under the "
            f"run; what is loaded now differs in {', '.join(parts)}",
            cause="Something writes into the folder that the tokenizer was loaded "
            "from, while the run goes on with what it had loaded.",
            fix="Put the files back, or keep the run's tokenizer with its "
            "checkpoints: tokenizer.save_pretrained(output_dir).",
            places=[Place("file", name) for name in news.files],
            steps=(step, step),
            evidence={"reason": "changed-on-disk", "parts": ", ".join(parts)},
            healthy="files that stay as they were loaded",
        )
