import numpy as np

from ftlab.records.step import StepRecord
from ftlab.runlog.run import Run
from ftlab.views.layers.lora import LoraView
from tests.views.sample import add_adapters, named


def grown(layers, measured=3, every=4):
    run = named(0)
    generator = np.random.default_rng(0)
    for step in range(measured * every):
        if step % every:
            run.append(StepRecord(step, 0.0))
            continue
        ba = generator.uniform(0.01, 1, layers) * step
        ones = np.ones(layers)
        add_adapters(run, layers, step, 3 * ones, ba / 2, ba, 10 * ones, 4 * ones)
    return run


def test_text_names_norms_share_of_the_weight_and_used_rank():
    run = named(0)
    add_adapters(run, 2, 0, [3, 3], [0, 1], [0, 0.5], [10, 10], [0, 2.5])
    assert repr(LoraView(run)) == (
        "LoRA adapters: 2 layers, measured at step 0\n"
        "layers.0: |A| 3, |B| 0, |update| 0; 0 % of W, rank 0.0 of 8\n"
        "layers.1: |A| 3, |B| 1, |update| 0.5; 5 % of W, rank 2.5 of 8\n"
        "No band: 2 layers are too few to compare."
    )


def test_a_run_without_adapters_says_so():
    run = named(1)
    run.append(StepRecord(0, 0.0))
    for empty in (Run(), run):
        view = LoraView(empty)
        assert repr(view) == "LoRA adapters: nothing recorded yet"
        assert len(view.table()) == 0
        assert view.figure().axes


def test_named_adapters_without_a_measurement_are_no_error():
    run = grown(2)
    early = run.window(0, 0)
    assert "nothing recorded yet" in repr(LoraView(early))
    unmeasured = Run()
    for name in run.names("adapters").values():
        unmeasured.append(name)
    widget = LoraView(unmeasured).widget()
    assert widget.notes == []
    widget.close()


def test_a_column_stands_for_one_interval_of_measurements():
    summary = LoraView(grown(2)).summary
    assert summary.stride == 4
    assert summary.first_steps.tolist() == [0, 4, 8]


def test_the_band_is_the_runs_own_quartiles_times_the_weight():
    run = named(0)
    base = np.array([10.0, 20, 10, 20, 10])
    ba = np.array([1.0, 4, 3, 8, 5])
    ones = np.ones(5)
    add_adapters(run, 5, 0, ones, ones, ba, base, ones)
    summary = LoraView(run).summary
    low, high = np.quantile(ba / base, [0.25, 0.75])
    for layer in range(5):
        assert np.isclose(summary.row(f"layers.{layer} low")[0], low * base[layer])
        assert np.isclose(summary.row(f"layers.{layer} high")[0], high * base[layer])


def test_pairs_of_a_layer_add_up_as_squares():
    from ftlab.records.names import NameRecord
    from ftlab.records.step import Block

    run = Run()
    for row in range(2):
        run.append(NameRecord(row, "adapters", f"p{row}", "adapter", "layers.0"))
    pair = np.float32([3, 4])
    columns = ("a_l2", "b_l2", "ba_l2", "base_l2", "effective_rank")
    values = dict.fromkeys(columns, pair)
    run.append(Block("adapters", 0, np.arange(2, dtype=np.int32), values))
    run.append(StepRecord(0, 0.0))
    view = LoraView(run)
    assert view.summary.row("layers.0 a").tolist() == [5.0]
    assert "rank 3.5" in repr(view)
    assert view.table()["pair"].tolist() == ["p0", "p1"]


def test_a_nan_in_an_adapter_is_shown_as_nan():
    run = named(0)
    add_adapters(run, 2, 0, [np.nan, 1], [1, 1], [np.nan, 1], [1, 1], [np.nan, 1])
    assert "layers.0: |A| NaN, |B| 1, |update| NaN; NaN % of W" in repr(LoraView(run))
    assert LoraView(run).figure().axes


def test_eighty_layers_are_drawn_on_one_axes():
    view = LoraView(grown(80))
    assert len(view.figure().axes) == 1
    assert repr(view).splitlines()[13] == "... and 68 more layers in .table()"


def test_the_widget_has_one_panel_per_layer_and_a_band_from_four_layers_on():
    for layers, kinds in ((2, 3), (4, 5)):
        widget = LoraView(grown(layers)).widget()
        assert len(widget.spec["panels"]) == layers
        assert len(widget.spec["panels"][0]["series"]) == kinds
        widget.close()


def test_live_measurements_equal_those_read_at_once():
    whole = grown(5, measured=6)
    live = Run()
    view = LoraView(live)
    widget = view.widget()
    for name in whole.names("adapters").values():
        live.append(name)
    for step in range(24):
        if step % 4 == 0:
            add_adapters_from(whole, live, step)
        else:
            live.append(StepRecord(step, 0.0))
        view.refresh()
    expected = LoraView(whole).summary
    assert view.summary.stride == expected.stride
    assert np.array_equal(view.summary.values, expected.values, equal_nan=True)
    widget.close()


def add_adapters_from(whole, live, step):
    values = [
        whole.matrix(name, "adapters", start=step, stop=step + 1).values[0]
        for name in ("a_l2", "b_l2", "ba_l2", "base_l2", "effective_rank")
    ]
    add_adapters(live, len(values[0]), step, *values)
