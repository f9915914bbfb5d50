"""Findings as text for a terminal."""

import io
from pathlib import Path

from ftlab.records.finding import NotChecked, Place, Severity
from ftlab.session.summary import print_verdict, print_watches
from ftlab.session.verdict import Verdict
from tests.session.test_verdict import finding


def printed(findings=(), not_checked=()):
    stream = io.StringIO()
    print_verdict(Verdict(Path("run"), 1, findings, not_checked), stream)
    return stream.getvalue().splitlines()


def test_a_healthy_run_is_one_line():
    assert printed() == ["ftlab: 1 step, no findings, log in run"]


def test_a_finding_says_what_where_why_and_what_to_try():
    assert printed((finding(),))[1:] == [
        "error NUM001 non-finite-loss",
        "  m",
        "  where: object loss, steps 1 to 2",
        "  cause: c",
        "  fix:   f",
    ]


def test_what_was_there_before_the_run_names_no_step():
    import dataclasses

    before = dataclasses.replace(finding(), first_step=-1, last_step=-1)
    assert "  where: object loss" in printed((before,))


def test_a_cause_is_printed_above_what_follows_from_it():
    import dataclasses

    cause = dataclasses.replace(finding(), code="GRD003", severity=Severity.WARNING)
    lines = printed((dataclasses.replace(finding(), follows="GRD003"), cause))
    heads = [line.split()[1] for line in lines[1:] if not line.startswith(" ")]
    assert heads == ["GRD003", "NUM001"]
    assert lines.count("  first: fix GRD003: this follows from it") == 1


def test_text_of_a_run_is_never_markup():
    import dataclasses

    nasty = dataclasses.replace(
        finding(), message="[bold red]x[/] " + "y" * 200, severity=Severity.INFO
    )
    assert "  [bold red]x[/] " + "y" * 200 in printed((nasty,))


def test_many_places_are_cut_and_counted():
    import dataclasses

    places = tuple(Place("param", f"p{number}") for number in range(5))
    lines = printed((dataclasses.replace(finding(), places=places),))
    assert "  where: param p0, p1, p2 and 2 more, steps 1 to 2" in lines


def test_what_was_not_checked_says_what_to_record():
    lines = printed(not_checked=(NotChecked("GRD001", "name", "why", "how"),))
    assert lines[1] == "not checked GRD001 name: why; how"


def test_no_training_is_said():
    stream = io.StringIO()
    print_watches([], stream)
    assert stream.getvalue().startswith("ftlab saw no training")
