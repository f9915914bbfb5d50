import numpy as np
import pytest

from ftlab.records.errors import BadValueError
from ftlab.records.settings import options
from ftlab.records.step import StepRecord
from ftlab.runlog.run import Run
from ftlab.views.charts.scale import colours, quantise
from ftlab.views.layers.updates import RATIO, UpdatesView
from tests.views.sample import add_measured, add_name, named

MEASURED = (0, 1, 2, 4, 8)


def moving(layers=2, steps=10, measured=MEASURED):
    run = named(layers, 1)
    for step in range(steps):
        if step in measured:
            updates = 1e-3 * (1 + step + np.arange(layers))
            add_measured(
                run, step, layers, update_l2=updates, weight_l2=1.0, stuck_share=0.0
            )
        else:
            run.append(StepRecord(step, 0.0))
    return run


def test_a_column_is_a_measurement():
    table = UpdatesView(moving()).table()
    assert table["step"].tolist() == np.repeat(MEASURED, 2).tolist()
    expected = [1e-3 * (1 + step + layer) for step in MEASURED for layer in range(2)]
    np.testing.assert_allclose(table["update_ratio"], expected, rtol=1e-5)


def test_the_figure_shows_the_colours_of_the_codes():
    view = UpdatesView(moving())
    image = view.figure().axes[0].images[0].get_array()
    values = view.summary.layer_values["update_ratio"]
    assert np.array_equal(image, colours(quantise(values, RATIO).T, RATIO))


def test_the_axis_names_the_steps_of_the_measurements():
    figure = UpdatesView(moving()).figure()
    figure.canvas.draw()
    words = [one.get_text() for one in figure.axes[0].get_xticklabels()]
    assert [word for word in words if word] == ["0", "1", "2", "4", "8"]


def test_another_statistic_is_drawn_by_its_name_or_its_button():
    view = UpdatesView(moving())
    for name in ("stuck_share", "stuck"):
        assert "kept their stored value" in view.figure(name).axes[0].get_title("left")


def test_an_unknown_statistic_or_table_is_refused_with_what_is_allowed():
    view = UpdatesView(moving())
    with pytest.raises(BadValueError, match="'update_ratio', 'stuck_share'"):
        view.figure("ratios")
    with pytest.raises(BadValueError, match="'layer' and 'parameter'"):
        view.table(by="step")


def test_the_parameter_table_holds_the_last_values():
    table = UpdatesView(moving()).table(by="parameter")
    np.testing.assert_allclose(table["update_ratio"], [9e-3, 1e-2], rtol=1e-5)


def test_text_of_many_layers_ends_with_how_many_are_hidden():
    lines = repr(UpdatesView(moving(80))).splitlines()
    assert lines[-2] == "... and 68 more layers in .table()"
    assert len(lines) == 16


def test_live_measurements_equal_those_read_at_once():
    whole, live = moving(), named(2, 1)
    view = UpdatesView(live)
    widget = view.widget()
    for step in range(10):
        if step in MEASURED:
            updates = 1e-3 * (1 + step + np.arange(2))
            add_measured(live, step, update_l2=updates, weight_l2=1.0, stuck_share=0.0)
        else:
            live.append(StepRecord(step, 0.0))
        view.refresh()
    expected, got = UpdatesView(whole).summary, view.summary
    assert got.steps.tolist() == expected.steps.tolist() == list(MEASURED)
    for name, values in expected.layer_values.items():
        assert np.array_equal(got.layer_values[name], values)
    assert widget.spec["statistics"] == ["ratio", "stuck"]
    widget.close()


def test_a_step_without_a_measurement_sends_nothing():
    run = moving()
    view = UpdatesView(run)
    widget = view.widget()
    widget._snap_due = float("inf")
    run.append(StepRecord(10, 0.0))
    view.refresh()
    assert widget.messages == 0
    add_measured(run, 16, update_l2=1e-3, weight_l2=1.0, stuck_share=0.0)
    view.refresh()
    assert (widget.messages, widget.message_bytes) == (1, 2 * 2 * 4)
    widget.close()


def test_the_snap_tells_the_step_of_every_measurement():
    widget = UpdatesView(moving()).widget()
    head = np.frombuffer(widget.snap[:32], np.int32)
    assert head[[1, 2, 5]].tolist() == [8, 5, 1]
    steps = np.frombuffer(widget.snap[32 : 32 + 20], np.int32)
    assert steps.tolist() == list(MEASURED)
    widget.close()


def test_the_widget_grows_with_new_parameters():
    run = moving(1)
    view = UpdatesView(run)
    widget = view.widget()
    add_name(run, 1, 1, "late")
    add_measured(run, 12, update_l2=1e-3, weight_l2=1.0, stuck_share=0.0)
    view.refresh()
    assert [row.get("layer") for row in widget.rows[:2]] == ["layers.0", "layers.1"]
    assert view.table()["step"].max() == 12
    widget.close()


def test_long_runs_are_read_from_roll_ups(monkeypatch):
    monkeypatch.setattr("ftlab.views.layers.layer_statistics.RAW_STEPS", 100)
    run = moving(steps=200, measured=range(0, 200, 16))
    summary = UpdatesView(run).summary
    assert summary.steps.tolist() == [0, 64, 128, 192]
    highest = summary.layer_values["update_ratio"][:, 0]
    np.testing.assert_allclose(highest, [0.049, 0.113, 0.177, 0.193], rtol=1e-5)


def test_static_and_image_modes_make_pictures():
    with options.scoped(widgets="static"):
        data, _ = UpdatesView(moving())._repr_mimebundle_()
        assert set(data) == {"image/png", "text/plain"}
    run = moving()
    with options.scoped(widgets="image"):
        view = UpdatesView(run)
        picture = view.widget()
        before = picture.value
        add_measured(run, 20, update_l2=1.0, weight_l2=1.0, stuck_share=0.0)
        view.refresh()
        assert picture.value != before
        picture.close()


def test_an_empty_run_is_shown():
    view = UpdatesView(Run())
    widget = view.widget()
    view.refresh()
    widget.close()
