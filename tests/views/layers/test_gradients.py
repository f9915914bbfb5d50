import math

import numpy as np
import pytest

from ftlab.records.errors import BadValueError
from ftlab.records.settings import options
from ftlab.runlog.run import Run
from ftlab.views.charts.scale import colours, quantise
from ftlab.views.layers.gradients import GradientView
from tests.views.sample import add_name, add_step, named, random_run


def sick():
    run = named(2, 2)
    add_step(run, 0, [0.3, 0.4, 1.0, 0.0])
    add_step(run, 1, [0.3, math.nan, 1.0, math.nan], has=[1, 1, 1, 0])
    return run


def test_text_says_the_last_values_and_counts():
    assert repr(GradientView(sick())) == (
        "Gradients: 2 layers, 4 tensors, steps 0-1\n"
        "layer     norm  median  max  non-finite  no gradient\n"
        "layers.0   0.3     0.4  0.3           1            0\n"
        "layers.1     1       1    1           0            1\n"
        "Marks: layers.0 is 0.4 of layers.1 (mark: below 0.7)"
    )


def test_text_of_many_layers_ends_with_how_many_are_hidden():
    run = named(80, 1)
    add_step(run, 0, np.ones(80))
    text = repr(GradientView(run))
    assert text.endswith("... and 68 more layers in .table()")
    assert len(text.splitlines()) == 15


def test_an_empty_run_says_so_in_every_form():
    view = GradientView(Run())
    assert repr(view) == "Gradients: nothing recorded yet"
    assert len(view.table()) == 0
    assert len(view.table(by="parameter")) == 0
    assert view.figure().axes


def test_a_run_of_nan_only_is_shown():
    run = named(2, 1)
    for step in range(3):
        add_step(run, step, [math.nan, math.nan])
    view = GradientView(run)
    assert "NaN" in repr(view)
    assert view.table()["non_finite"].tolist() == [1] * 6
    assert view.table(by="parameter")["first_non_finite"].tolist() == [0, 0]
    assert view.figure().axes


def test_table_has_one_line_per_step_and_layer():
    table = GradientView(sick()).table()
    assert table["step"].tolist() == [0, 0, 1, 1]
    assert table["layer"].tolist() == ["layers.0", "layers.1"] * 2
    np.testing.assert_allclose(table["norm"], [0.5, 1.0, 0.3, 1.0], rtol=1e-6)
    assert table["non_finite"].tolist() == [0, 0, 1, 0]
    assert table["no_gradient"].tolist() == [0, 0, 0, 1]
    assert table["zero"].tolist() == [0, 1, 0, 0]


def test_parameter_table_tells_when_it_first_went_wrong():
    table = GradientView(sick()).table(by="parameter").set_index("parameter")
    line = table.loc["model.layers.0.w1.weight"]
    assert (line["non_finite"], line["first_non_finite"]) == (1, 1)
    assert math.isnan(line["norm"])
    assert table["no_gradient"].tolist() == [0, 0, 0, 1]
    np.testing.assert_allclose(table["largest_norm"], [0.3, 0.4, 1.0, 0.0], rtol=1e-6)


def test_an_unknown_table_is_refused_with_what_is_allowed():
    with pytest.raises(BadValueError, match="'layer' and 'parameter'"):
        GradientView(sick()).table(by="module")


def test_the_summary_is_made_anew_only_when_the_run_has_grown():
    run = sick()
    view = GradientView(run)
    first = view.summary
    assert view.summary is first
    add_step(run, 2, [1, 1, 1, 1])
    assert len(view.summary.first_steps) == 3
    assert len(first.first_steps) == 2


def test_figure_shows_the_colours_of_the_codes():
    run = random_run(layers=2, steps=12)
    view = GradientView(run)
    image = view.figure().axes[0].images[0].get_array()
    assert np.array_equal(image, colours(quantise(view.summary.shown).T))


def test_figure_of_a_long_run_keeps_a_single_nan():
    run = named(1, 1)
    for step in range(1500):
        add_step(run, step, [math.nan if step == 701 else 1.0])
    image = GradientView(run).figure().axes[0].images[0].get_array()
    assert image.shape[1] <= 700
    assert (image == [229, 0, 76, 255]).all(-1).sum() == 1


def test_bundle_holds_picture_text_and_widget():
    view = GradientView(sick())
    data, _ = view._repr_mimebundle_()
    assert set(data) == {
        "application/vnd.jupyter.widget-view+json",
        "image/png",
        "text/plain",
    }
    assert data["text/plain"] == repr(view)
    view.widget().close()


def test_static_mode_makes_no_widget():
    with options.scoped(widgets="static"):
        data, _ = GradientView(sick())._repr_mimebundle_()
    assert set(data) == {"image/png", "text/plain"}


def test_image_mode_redraws_a_picture():
    run = sick()
    with options.scoped(widgets="image"):
        view = GradientView(run)
        picture = view.widget()
        before = picture.value
        view.refresh()
        assert picture.value == before
        add_step(run, 2, [1, 1, math.nan, 1])
        view.refresh()
        assert picture.value != before
        picture.close()


def test_the_widget_grows_with_new_parameters():
    run = named(1, 1)
    add_step(run, 0, [1.0])
    view = GradientView(run)
    widget = view.widget()
    add_name(run, 1, 1, "late")
    add_step(run, 1, [1.0, 2.0])
    view.refresh()
    assert [row.get("layer") for row in widget.rows[:2]] == ["layers.0", "layers.1"]
    codes = np.frombuffer(widget.snap[32:], np.uint16).reshape(2, -1)
    assert codes[1].tolist() == quantise([1, 2, 1, 2, 1, 2, 1, 2]).tolist()
    widget.close()


def test_another_run_is_shown_in_the_same_widget():
    view = GradientView(sick())
    widget = view.widget()
    other = named(3, 2)
    add_step(other, 7, [1, 2, 3, 4, 5, 6])
    view.show(other)
    assert view.widget() is widget
    assert len(widget.rows) == 9
    assert len(view.table()) == 3
    widget.close()
