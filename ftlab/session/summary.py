"""What a run has shown, as text for a terminal."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from ftlab.records.chains import chain_lines
from ftlab.records.finding import Finding, Severity
from ftlab.records.printable import harmless
from ftlab.records.ranking import ranked
from ftlab.session.verdict import Verdict
from ftlab.views.findings.findings_words import follows

if TYPE_CHECKING:
    from rich.console import Console

    from ftlab.session.watch import Watch

_COLOURS = {
    Severity.INFO: "blue",
    Severity.WARNING: "yellow",
    Severity.ERROR: "bold red",
}

NOTHING_SEEN = (
    "ftlab saw no training: no Trainer.train(), and no forward call of a model whose "
    "optimizer it could find."
)


def print_watches(watches: "Sequence[Watch]", stream: TextIO) -> None:
    """Print what was watched, where the logs are, and what was found."""
    console = _console(stream)
    if not watches:
        _line(console, NOTHING_SEEN)
    for watch in watches:
        run = watch.run
        _heading(console, run.path, len(run.steps), len(run.findings))
        _findings(console, run.findings)


def print_verdict(verdict: Verdict, stream: TextIO) -> None:
    """Print what the rules say of a run log, and what they could not check."""
    console = _console(stream)
    _heading(console, verdict.path, verdict.steps, len(verdict.findings))
    for damage in verdict.left_out:
        _line(console, damage, style="yellow")
    _findings(console, verdict.findings)
    for each in verdict.not_checked:
        text = f"not checked {each.code} {each.name}: {each.reason}; {each.record}"
        _line(console, text, style="dim")
    if verdict.held is not None:
        _line(console, repr(verdict.held))


def print_text(text: str, stream: TextIO, *, style: str = "") -> None:
    """Print text as it is, in one of rich's styles where the stream is a terminal."""
    _line(_console(stream), text, style=style)


def print_findings(findings: Iterable[Finding], stream: TextIO) -> None:
    """Print findings, worst first, or that there are none."""
    found = tuple(findings)
    if not found:
        print_text("No findings.", stream, style="green")
    _findings(_console(stream), found)


def _findings(console: "Console", findings: Iterable[Finding]) -> None:
    """Print each finding, worst first: what, where, why and what to try."""
    found = ranked(findings)
    for line in chain_lines(found):
        _line(console, line, style="bold")
    for finding in found:
        head = f"{finding.severity.label} {finding.code} {finding.name}"
        _line(console, head, style=_COLOURS[finding.severity])
        _line(console, f"  {finding.message}")
        seen = [finding.where, *_steps(finding)]
        _line(console, f"  where: {', '.join(seen)}")
        _line(console, f"  cause: {finding.cause}")
        if finding.follows:
            _line(console, f"  first: {follows(finding)}")
        _line(console, f"  fix:   {finding.fix}")


def _heading(console: "Console", path: Path | None, steps: int, count: int) -> None:
    where = "" if path is None else f", log in {path}"
    found = {0: "no findings", 1: "1 finding"}.get(count, f"{count} findings")
    noun = "step" if steps == 1 else "steps"
    _line(console, f"ftlab: {steps} {noun}, {found}{where}", style="bold")


def _steps(finding: Finding) -> Iterator[str]:
    """Yield when it was seen; nothing where it was there before the first step."""
    first, last = finding.first_step, finding.last_step
    if last >= 0:
        yield f"step {first}" if first == last else f"steps {first} to {last}"


def _line(console: "Console", text: str, *, style: str = "") -> None:
    from rich.text import Text

    # Text, not markup: names of parameters and files are data.
    console.print(Text(harmless(text), style=style))


def _console(stream: TextIO) -> "Console":
    from rich.console import Console

    return Console(file=stream, highlight=False, soft_wrap=True)
