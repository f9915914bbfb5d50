"""MOD004: buffers that nothing filled, and tensors on meta."""

from ftlab.rules.model.buffer_without_values import BufferWithoutValues
from tests.runs import RunBuilder, found_by, only, places, report_by


def run(bad=None, meta=()):
    buffers = {"bad": bad or {}, "meta": list(meta), "compared": 1}
    builder = RunBuilder().facts(model={"class": "Toy", "buffers": buffers}).step()
    return found_by(BufferWithoutValues(), builder.run)


def test_is_quiet_where_all_is_filled():
    assert run() == ()


def test_says_which_and_what_is_in_it():
    (found,) = run({"m.rotary.inv_freq": "holds NaN"})
    assert "m.rotary.inv_freq holds NaN" in found.message
    assert places(found) == ["param m.rotary.inv_freq", "call model.to_empty"]


def test_meta_is_a_finding_of_its_own():
    only(run(meta=["m.w"]), reason="meta")


def test_an_older_run_does_not_concern_it():
    builder = RunBuilder().facts(model={"class": "Toy"}).step()
    report = report_by(BufferWithoutValues(), builder.run)
    assert (report.findings, report.not_checked) == ((), ())
