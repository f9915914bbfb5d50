import re

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.runlog.codec import finding_event
from ftlab.runlog.run import Run
from ftlab.views.findings.findings import FindingsView
from ftlab.views.findings.findings_html import findings_html
from ftlab.views.findings.findings_words import counted

EVIL = "<script>alert('x')</script> & $x$"


def finding(severity=Severity.ERROR, first=3, last=5, code="NUM001", **fields):
    values = {
        "message": "The loss is NaN at step 3.",
        "cause": "The logits overflow float16.",
        "fix": "Train in bf16.",
        "places": (Place("param", "lm_head.weight"), Place("step", "3")),
        "evidence": {"share": 1 / 3, "threshold": 0, "dtype": "float16"},
        "healthy": "a finite loss",
    } | fields
    return Finding(
        code, "non-finite-loss", severity, first_step=first, last_step=last, **values
    )


def view_of(*findings, not_checked=()):
    run = Run()
    for one in findings:
        run.append(finding_event(one, 0.0))
    return FindingsView(run, not_checked)


NOT = NotChecked("OPT003", "misplaced-scheduler-step", "no scheduler", "scheduler=s")


def test_text_says_what_why_what_to_do_and_where():
    assert repr(view_of(finding(), not_checked=[NOT])) == (
        "Findings: 1 error\n"
        "\n"
        "ERROR NUM001 non-finite-loss\n"
        "  what   The loss is NaN at step 3.\n"
        "  why    The logits overflow float16.\n"
        "  do     Train in bf16.\n"
        "  where  steps 3-5, param lm_head.weight, step 3\n"
        "  seen   share 0.333, threshold 0, dtype float16\n"
        "  else   a healthy run: a finite loss\n"
        "\n"
        "Not checked: 1 rule\n"
        "  OPT003 misplaced-scheduler-step: No scheduler. Next time: scheduler=s"
    )


def test_a_line_of_cause_and_effect_stands_above_all():
    flat = finding(code="NUM003", follows="ADP001", first=0)
    stuck = finding(code="ADP001", follows="GRD003", first=0)
    cut = finding(code="GRD003", first=0)
    view = view_of(flat, stuck, cut)
    name = cut.name.replace("-", " ")
    line = f"{name} (NUM003) <- {name} (ADP001) <- {name} (GRD003)"
    assert repr(view).splitlines()[1] == f"  {line}"
    escaped = line.replace("<", "&lt;")
    assert f'<div class="ftlab-chain">{escaped}</div>' in findings_html(view.summary)


def test_what_follows_from_another_finding_says_what_to_mend_first():
    symptom = finding(code="ADP001", follows="GRD003", first=0)
    view = view_of(symptom, finding(Severity.WARNING, code="GRD003"))
    assert [one.code for one in view] == ["GRD003", "ADP001"]
    assert "  first  fix GRD003: this follows from it\n" in repr(view)
    assert "fix GRD003: this follows from it" in findings_html(view.summary)
    assert list(view.table()["follows"]) == ["", "GRD003"]


def test_is_quiet_on_a_healthy_run():
    view = view_of()
    assert (len(view), bool(view), list(view)) == (0, False, [])
    assert repr(view) == "Findings: none"
    assert "No findings." in findings_html(view.summary)
    assert len(view.table()) == 0


def test_is_a_sequence_with_the_worst_first():
    info = finding(Severity.INFO, first=0, code="ADP002")
    late = finding(first=9, last=9, code="NUM002")
    view = view_of(info, late, finding())
    assert [one.code for one in view] == ["NUM001", "NUM002", "ADP002"]
    assert (len(view), bool(view)) == (3, True)
    assert view[0].code == "NUM001"
    assert [one.code for one in view[1:]] == ["NUM002", "ADP002"]
    assert view[0] in view
    assert counted(list(view)) == "2 errors, 1 note"


def test_the_same_finding_seen_again_is_one_line_with_the_last_step():
    view = view_of(finding(), finding(first=6, last=8))
    assert len(view) == 1
    assert "steps 3-8" in repr(view)


def test_nothing_of_a_finding_becomes_markup():
    evil = finding(
        message=EVIL,
        cause=EVIL,
        fix=EVIL,
        places=(Place("param", EVIL),),
        evidence={EVIL: EVIL},
        healthy=EVIL,
    )
    bad = NotChecked(EVIL, EVIL, EVIL, EVIL)
    view = view_of(evil, not_checked=[bad])
    page = findings_html(view.summary)
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 10
    assert view.figure().canvas.print_to_buffer()


def test_only_the_worst_finding_is_unfolded():
    view = view_of(finding(), finding(code="NUM002"), finding(code="NUM003"))
    folded = re.findall(r"<details[^>]*>", findings_html(view.summary))
    assert [" open" in one for one in folded] == [True, False, False]


def test_table_has_one_line_per_finding():
    table = view_of(finding(), finding(Severity.WARNING, code="NUM002")).table()
    assert table["severity"].tolist() == ["error", "warning"]
    assert table["place"].tolist() == ["param lm_head.weight"] * 2


def test_many_places_are_counted_not_listed():
    places = tuple(Place("param", f"w{number}") for number in range(28))
    assert "param w0, w1, w2 and 25 more" in repr(view_of(finding(places=places)))


def test_a_finding_that_goes_on_does_not_fold_what_the_reader_opened():
    run = Run()
    run.append(finding_event(finding(), 0.0))
    view = FindingsView(run)
    widget = view.widget()
    view.refresh()
    before = widget.value
    run.append(finding_event(finding(first=6, last=9), 0.0))
    view.refresh()
    assert widget.value == before
    run.append(finding_event(finding(code="NUM002"), 0.0))
    view.refresh()
    assert "NUM002" in widget.value
    run.append(finding_event(finding(first=6, last=99), 0.0))
    view.settle()
    assert "steps 3-99" in widget.value
    widget.close()


def test_what_is_not_checked_may_be_asked_anew_each_time():
    missing = []
    view = FindingsView(Run(), lambda: missing)
    assert view.not_checked == ()
    missing.append(NOT)
    assert view.not_checked == (NOT,)


def test_rules_that_lack_the_same_are_told_in_one_line():
    lacking = [NotChecked(f"DAT00{n}", "a-name", "no ids", "ids") for n in (1, 2, 3)]
    view = view_of(not_checked=[*lacking, NOT])
    lines = repr(view).partition("Not checked: 4 rules\n")[2].splitlines()
    assert lines[0] == "  DAT001, DAT002, DAT003: No ids. Next time: ids"
    assert lines[1].startswith(f"  {NOT.code} {NOT.name}: ")
    assert "<dt>DAT001, DAT002, DAT003</dt><dd>No ids." in findings_html(view.summary)


def test_bytes_are_written_as_sizes_and_what_is_empty_is_left_out():
    seen = {"bytes_per_step": 503_808, "bytes": 8 * 2**20, "holder": ""}
    said = repr(view_of(finding(evidence=seen)))
    assert "seen   bytes_per_step 492 KiB, bytes 8 MiB\n" in said
