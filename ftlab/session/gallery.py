"""The fault gallery on the command line: list it, play one fault, print the score."""

from typing import Any, TextIO

from ftlab.faults.registry import list_faults, load
from ftlab.session.score import score_faults
from ftlab.session.scoring.board import Score
from ftlab.session.scoring.grade import alarms
from ftlab.session.scoring.record import watch_case
from ftlab.session.scoring.text import HEAD, line
from ftlab.session.summary import print_findings, print_text


def faults_text() -> str:
    """Return a line for each fault, under the name of its area."""
    lines: list[str] = []
    for fault in list_faults():
        if f"{fault.area}:" not in lines:
            lines += ["", f"{fault.area}:"]
        lines.append(f"  {fault.id:<36} {fault.code}  {fault.symptom}")
    return "\n".join(lines[1:])


def faults_json() -> list[dict[str, Any]]:
    """Return what the gallery knows of each fault, as values that JSON can hold."""
    return [
        {
            "id": fault.id,
            "area": fault.area,
            "code": fault.code,
            "also": list(fault.also),
            "places": list(fault.places),
            "symptom": fault.symptom,
            "cause": fault.cause,
            "fix": fault.fix,
            "source": fault.source,
            "silent": fault.silent,
            "traincheck": fault.traincheck,
            "file": str(fault.file),
        }
        for fault in list_faults()
    ]


def play(
    fault_id: str, stream: TextIO, *, fixed: bool = False, steps: int | None = None
) -> bool:
    """Train a fault or its twin, watched, and print its page and the findings.

    Returns
    -------
    bool
        Whether its rule found it, or the twin was left in peace.
    """
    fault = load(fault_id)
    print_text(repr(fault), stream)
    watched = watch_case(fault.build(fixed), steps or fault.steps)
    count, twin = len(watched.run.steps), " of its healthy twin" if fixed else ""
    head = f"\n{count} {'step' if count == 1 else 'steps'}{twin}"
    print_text(f"{head}, {watched.seconds:.1f} s", stream, style="bold")
    if watched.error is not None:
        name = type(watched.error).__name__
        print_text(f"It ended with {name}: {watched.error}", stream, style="red")
    findings = watched.report.findings
    print_findings(findings, stream)
    if fixed:
        return not alarms(findings)
    return fault.code in {each.code for each in findings}


def print_score(
    stream: TextIO, *, area: str = "", seeds: int = 1, budget: float | None = None
) -> Score:
    """Run the gallery and print each line of the score as it comes, then the sums."""
    print_text(HEAD, stream, style="bold")
    score = score_faults(
        area=area,
        seeds=seeds,
        budget=budget,
        tell=lambda entry: print_text(line(entry), stream),
    )
    print_text(f"\n{score.totals_text}", stream)
    return score
