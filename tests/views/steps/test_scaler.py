import numpy as np
import pytest

from ftlab.records.errors import BadValueError
from ftlab.records.step import StepRecord
from ftlab.runlog.run import Run
from ftlab.views.steps.scaler import ScalerView, changes, in_a_row
from tests.views.sample import add_step, named


def scaled(skipped=(1, 2, 5), steps=8):
    """Return a run of fp16: the scale halves after each skipped step."""
    run, scale = named(2, 2), 1024.0
    for step in range(steps):
        bad = step in skipped
        norms = [1.0, np.inf if bad else 1.0, 1.0, 1.0]
        add_step(run, step, norms, loss_scale=scale, skipped=bad)
        scale = scale / 2 if bad else scale
    return run


def test_text_says_scale_skips_and_what_was_not_finite():
    assert repr(ScalerView(scaled())) == (
        "Loss scale: 8 steps\n"
        "last 128; grew 0 times, backed off 3 times\n"
        "3 of 8 steps skipped (37.5 %), longest run 2, steps 1-2\n"
        "Step 5, skipped: 1 of 4 gradients not finite; "
        "nearest the loss: model.layers.0.w1.weight"
    )


def test_a_run_without_a_scaler_has_nothing_to_show():
    run = named(1, 1)
    add_step(run, 0, [1.0])
    for view in (ScalerView(run), ScalerView(Run())):
        assert view.headline() == ""
        assert repr(view) == "Loss scale: nothing recorded yet"
        assert view.figure().axes


def test_the_table_is_exact_and_by_step():
    table = ScalerView(scaled()).table()
    assert table["skipped_in_a_row"].tolist() == [0, 1, 2, 0, 0, 1, 0, 0]
    assert table["loss_scale"].tolist() == [1024, 1024, 512, 256, 256, 256, 128, 128]
    assert table["change"].tolist()[1:] == [1, 0.5, 0.5, 1, 1, 0.5, 1]


def test_the_tensor_table_names_what_was_not_finite_nearest_the_loss_first():
    run = named(2, 1)
    add_step(run, 0, [np.nan, np.inf], loss_scale=8.0, skipped=True)
    table = ScalerView(run).table(by="tensor")
    assert table["layer"].tolist() == ["layers.1", "layers.0"]
    assert table["step"].tolist() == [0, 0]


def test_an_unknown_table_is_refused_with_what_is_allowed():
    with pytest.raises(BadValueError, match="'step' and 'tensor'"):
        ScalerView(scaled()).table(by="layer")


def test_skips_in_a_row_equal_a_dumb_count():
    skipped = np.random.default_rng(0).random(200) < 0.4
    expected, count = [], 3
    for each in skipped:
        count = count + 1 if each else 0
        expected.append(count)
    assert in_a_row(skipped, before=3).tolist() == expected


def test_a_row_of_skips_goes_on_over_a_refresh():
    run = Run()
    view = ScalerView(run)
    widget = view.widget()
    for step in range(4):
        run.append(StepRecord(step, 0.0, loss_scale=8.0, skipped=True))
        view.refresh()
    assert view.summary.row("in_a_row").tolist() == [1, 2, 3, 4]
    assert "longest run 4" in view.headline()
    widget.close()


def test_growth_and_backoff_are_counted():
    assert changes(np.array([8, 8, 16, np.nan, 8, 16, 32.0])) == (3, 1)


def test_a_skip_without_a_known_scale_is_shown():
    run = Run()
    run.append(StepRecord(0, 0.0, skipped=True))
    assert ScalerView(run).headline().startswith("scale not recorded; 1 of 1 step")


@pytest.mark.parametrize("steps", [4, 24, 60])
def test_the_scale_s_axis_has_few_numbers_over_many_decades(steps):
    view = ScalerView(scaled(skipped=range(steps), steps=steps))
    figure = view.figure()
    figure.canvas.draw()
    axes = figure.axes[0]
    low, high = axes.get_ylim()
    numbers = [at for at in axes.get_yticks() if low <= at <= high]
    assert 2 <= len(numbers) <= 10
