from pathlib import Path

from ftlab.probes.graph import nan_makers, steep_places
from ftlab.records.event import Event
from ftlab.records.finding import Place
from ftlab.rules.reasons import origins
from ftlab.rules.reasons.origins import Origin, origin_of
from ftlab.runlog.run import Run


def run_with(step, of, ops, reasons):
    run = Run()
    detail = {"of": of, "ops": ops, "reasons": reasons}
    run.append(Event("origin", step, 0.0, "", detail))
    return run


def test_an_origin_is_of_one_step_and_one_kind():
    run = run_with(3, "loss", ["log", "mul"], ["zero times infinity"])
    found = origin_of(run, 3, "loss")
    assert found.places == [Place("op", "log"), Place("op", "mul")]
    assert "multiplied by 0" in found.cause
    assert "masked_fill" in found.fix
    assert origin_of(run, 2, "loss") == origin_of(run, 3, "gradients") == Origin()


def test_every_reason_has_a_cause_and_a_fix():
    makers, steep = (
        Path(module.__file__).read_text() for module in (nan_makers, steep_places)
    )
    assert set(origins._CAUSES) == set(origins._FIXES)
    assert all(f'"{reason}"' in makers + steep for reason in origins._CAUSES)


def test_what_is_not_known_is_not_said():
    nothing = Origin()
    assert (nothing.cause, nothing.fix, nothing.places) == ("", "", [])
