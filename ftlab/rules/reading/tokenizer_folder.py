"""What a run has told of folders that hold a tokenizer, for the rules about them."""

from ftlab.records.folder_news import FolderNews, Matter
from ftlab.rules.rule import Need, Run

IDS = ("vocabulary", "merges", "model", "normaliser", "pre-tokeniser")
"""Parts of a fingerprint that decide which ids a text has."""


def folder_news(run: Run, *matters: Matter) -> list[tuple[int, FolderNews]]:
    """Return what was told of folders, and with which steps; all of it by default."""
    found = [
        (event.step, FolderNews.from_json(event.detail))
        for event in run.whole.events
        if event.kind == "tokenizer-files"
    ]
    return [each for each in found if not matters or each[1].matter in matters]


def is_told(run: Run, *matters: Matter) -> bool:
    """Tell whether there is news of such folders, or nothing is known of the run."""
    return not run.facts.model or bool(folder_news(run, *matters))


NEEDS_FILES = Need(
    "the files that its tokenizer was loaded from",
    "a watch with a tokenizer of a local folder, or ftlab.tokenizer_files(folder)",
    lambda run: bool(folder_news(run, "read")),
)
