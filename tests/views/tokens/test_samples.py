import math

from ftlab.records.event import Event
from ftlab.runlog.run import Run
from ftlab.views.tokens.samples import HighestLossesView


def run_with(*samples, keep=20):
    run = Run()
    for step, loss, usual in samples:
        detail = {
            "sample": 1,
            "micro_batch": 0,
            "loss": loss,
            "tokens": 4,
            "keep": keep,
            "usual": usual,
            "ids": [7, 8],
            "text": "",
        }
        run.append(Event("sample", step, 0.0, "", detail))
    return run


def test_the_highest_come_first_and_nan_before_all():
    view = HighestLossesView(run_with((0, 2.0, 1.0), (1, math.nan, 1.0), (2, 9.0, 1.0)))
    assert [each.step for each in view.summary] == [1, 2, 0]
    assert view.table()["above"].tolist()[1:] == [8.0, 1.0]
    assert "'7 8'" in repr(view)


def test_what_was_pushed_out_is_not_shown():
    run = run_with(
        (0, 5.0, math.nan), (1, 6.0, 5.9), (2, 4.0, 1.0), (3, 3.0, 2.9), keep=1
    )
    assert [each.step for each in HighestLossesView(run).summary] == [1, 2]


def test_the_rest_is_named_by_how_unusual_it_is():
    samples = [(step, 10.0 + step, 9.0 + step) for step in range(12)]
    lines = repr(HighestLossesView(run_with((99, 8.0, 1.0), *samples))).splitlines()
    assert lines[11] == "  3 more in .table(), furthest above the usual:"
    assert lines[12].startswith("  step 99,")


def test_it_draws_text_that_is_no_formula():
    run = run_with((0, 2.0, 1.0))
    run.events[0].detail["text"] = r"cost $x_{1$ \frac"
    figure = HighestLossesView(run).figure()
    figure.canvas.draw()
    assert len(figure.axes[0].patches) == 1


def test_an_empty_one_says_how_to_get_it():
    assert "highest_losses=20" in repr(HighestLossesView(Run()))
    assert HighestLossesView(Run()).table().empty
    HighestLossesView(Run()).figure().canvas.draw()
