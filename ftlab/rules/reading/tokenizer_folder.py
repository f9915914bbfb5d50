"""What a run has told of folders that hold a tokenizer, for the rules about them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.folder_news import FolderNews, Matter
from ftlab.records.tokenizer_files import Agreement
from ftlab.rules.rule import Need, Rule
from ftlab.runlog.run import Run

IDS = (
    "vocabulary",
    "merges",
    "model",
    "normaliser",
    "pre-tokeniser",
)
"""Parts of a fingerprint that decide which ids a text has."""


@dataclass(frozen=True, slots=True)
class Told:
    """A disagreement of files, and the step with which it was told."""

    step: int
    folder: str
    agreement: Agreement


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


class FolderRule(Rule):
    """A rule about files of one folder that disagree in one way.

    Attributes
    ----------
    reason
        That of `ftlab.records.tokenizer_files.Agreement`.
    severity, cause, fix, healthy
        Of its findings; the agreement's words are the message.
    """

    requires: ClassVar[tuple[Need, ...]] = (NEEDS_FILES,)
    severity: ClassVar[Severity] = Severity.WARNING
    reason: ClassVar[str]
    cause: ClassVar[str]
    fix: ClassVar[str]
    healthy: ClassVar[str]

    def applies(self, run: Run) -> bool:
        """Tell whether a folder was read, or nothing is known of the run."""
        return is_told(run, "read")

    def matters(self, run: Run, told: Told) -> bool:
        """Tell whether this run suffers from it."""
        return True

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for each subject in which files disagree."""
        for step, news in folder_news(run, "read"):
            for each in news.agreements:
                told = Told(step, news.folder, each)
                if each.reason == self.reason and self.matters(run, told):
                    yield self._found(told)

    def _found(self, told: Told) -> Finding:
        says = {file: text[:80] for file, text in told.agreement.says.items()}
        return self.finding(
            self.severity,
            f"{told.agreement.subject} in {told.folder}: {told.agreement.words}",
            cause=self.cause,
            fix=self.fix,
            places=[*map(_place, says), *_setting(told.agreement.subject)],
            steps=(told.step, told.step),
            evidence={"reason": self.reason, **says},
            healthy=self.healthy,
        )


def _place(name: str) -> Place:
    """Return the place of one who says something: a file, or the live model."""
    return Place("file", name) if "." in name else Place("object", name)


def _setting(subject: str) -> list[Place]:
    """Return the setting that a run suffers from where its EOS is another one."""
    if subject not in ("eos_token", "eos_token_id"):
        return []
    return [Place("config", "generation_config.eos_token_id")]
