import io

import pytest

from ftlab.records.errors import BadValueError, UnknownNameError
from ftlab.records.settings import options
from ftlab.views.replay.replay import Replay
from ftlab.views.view import png
from tests.views.traced import deep_trace, small_trace, update_trace

TEXT = """\
Step 173, micro-batch 1: Inf first appeared in model.layers.1.mlp (MLP).
  because exp(60000) is more than <i>float16</i> holds.
operation 5 of 13, forward: it begins here
modules                  forward        backward
  model                  #### Inf
    embed (EMBED)        .    1
    layers.0             .    2
    layers.1             #### Inf
      attn (ATTN)        ##   4,000
      mlp (MLP)          #### Inf                      <- it begins here
  (the step's own code)
operations
      1 aten.mul.Tensor              .    float16[2, 3], -inf to 0.5, 4 Inf, layers.0.attn (ATTN)
      2 aten.mul.Tensor              .    float16[2, 3], -2 to 2, layers.0.mlp (MLP)
      3 aten.mul.Tensor              ##   float16[2, 3], -4e+03 to 4e+03, layers.1.attn (ATTN)
      4 aten.<b>.default             ###  float16[2, 3], -6e+04 to 6e+04, layers.1.mlp (MLP)
>     5 aten.exp.default             #### float16[2, 3], -inf to inf, 1 Inf, layers.1.mlp (MLP)  <- it begins here
      6 aten.mul.Tensor              #### float32[2, 3], 1 NaN, no module (the step's own code)
      7 aten.mul.Tensor              #### float16[2, 3], -inf to inf, 1 Inf, layers.1.mlp (MLP)
      8 aten.mul.Tensor              #### float16[2, 3], -inf to inf, 1 Inf, layers.1.mlp (MLP)
      9 aten.mul.Tensor              #### float16[2, 3], -inf to inf, 1 Inf, layers.1.attn (ATTN)
  line    model.py:9 forward
  from    float16[2, 3], -6e+04 to 6e+04 by <b>mul</b> 4
  from    float16[3], 0 to 2 in parameter model.layers.1.w"""  # noqa: E501  as printed


@pytest.fixture
def replay():
    return Replay(small_trace())


def at(replay):
    return replay.op.index


def test_it_begins_at_the_culprit_and_its_text_never_varies(replay):
    assert repr(replay) == TEXT == repr(Replay(small_trace()))
    assert replay.culprit.op == "aten.exp.default"


def test_it_walks_by_op_and_stays_within_the_step(replay):
    assert at(replay.back()) == 4
    assert at(replay.step(count=2)) == 6
    assert at(replay.step(count=99)) == len(replay) - 1 == 12
    assert at(replay.back(count=99)) == 0


def test_it_walks_by_module_to_where_each_stay_begins(replay):
    assert at(replay.back(to="module")) == 3
    assert at(replay.step(to="module")) == 4
    assert at(replay.step(to="module")) == 6
    assert at(replay.step(to="module", count=3)) == 10
    assert at(replay.at(5).back(to="module", count=9)) == 0


def test_it_goes_to_what_led_there_and_back_to_the_culprit(replay):
    assert at(replay.to_cause()) == 4
    assert at(replay.to_culprit()) == 5


def test_without_a_culprit_it_begins_at_what_is_not_finite():
    from dataclasses import replace

    replay = Replay(replace(small_trace(), culprit=-1))
    assert at(replay) == 1
    assert replay.culprit is None
    assert "begins" not in repr(replay)


@pytest.mark.parametrize("index", [-1, 13])
def test_an_operation_that_is_not_there_is_refused(replay, index):
    with pytest.raises(BadValueError, match=r"operations 0 to 12; .* is 5"):
        replay.at(index)
    assert at(replay) == 5


@pytest.mark.parametrize("move", [{"to": " "}, {"count": 0}])
def test_a_move_that_is_not_there_is_refused(replay, move):
    with pytest.raises(BadValueError, match=r"back\(.*pass to='op', to='module'"):
        replay.back(**move)
    with pytest.raises(BadValueError, match=r"step\("):
        replay.step(**move)


def test_it_walks_to_modules_of_a_pattern(replay):
    assert at(replay.at(0).step(to="layers.*.mlp")) == 2
    assert at(replay.step(to="layers.*.mlp")) == 4
    assert at(replay.step(to="layers.0.attn")) == 11
    assert at(replay.back(to="layers.*.mlp")) == 10
    assert at(replay.at(4).step(to="1.mlp")) == 7
    assert at(replay.step(to="1.mlp", count=9)) == 12
    with pytest.raises(UnknownNameError, match=r"such a module; near ones .*0\.mlp"):
        replay.step(to="layers.0.mlpp")


def test_the_chain_of_the_culprit_is_the_debuggers_and_others_follow_the_worst(replay):
    assert [link.index for link in replay.chain] == [4, -1]
    assert [link.index for link in replay.at(12).chain][-1] == 2
    assert repr(replay.at(0).chain) == "batch 'input_ids'"


def test_the_table_has_every_operation_with_its_mark(replay):
    table = replay.table()
    assert table.index.tolist() == list(range(13))
    assert table["mark"].tolist()[2:6] == ["ok", "large", "near overflow", "non-finite"]
    assert table.loc[5, ["op", "module", "infs"]].tolist() == [
        "aten.exp.default",
        "model.layers.1.mlp",
        1,
    ]


def test_words_of_the_batch_and_source_lines_are_properties_too(replay):
    assert repr(replay.batch_text) == "sample 0: >'<pad>'< 'cat'"
    assert "> 7  x < y" in repr(replay.source)


@pytest.mark.parametrize("trace", [small_trace(), deep_trace(), update_trace()])
def test_the_figure_draws_the_tree_and_every_operation(trace):
    figure = Replay(trace).figure()
    tree, ops = figure.axes
    words = {text.get_text() for text in tree.texts}
    assert {row.label for row in Replay(trace).summary.rows} <= {
        word.partition(" (")[0] if not word.startswith("(") else word for word in words
    }
    drawn = sum(len(dots.get_offsets()) for dots in ops.collections)
    assert drawn >= len(trace.ops) - 1
    assert io.BytesIO(png(figure)).read(4) == b"\x89PNG"


def test_a_bundle_has_text_picture_and_widget(replay):
    with options.scoped(widgets="anywidget"):
        bundle, _ = replay._repr_mimebundle_()
        replay.widget().close()
    assert bundle["text/plain"] == TEXT
    assert {"image/png", "application/vnd.jupyter.widget-view+json"} <= set(bundle)


def test_the_line_of_a_backward_operation_is_that_of_its_forward(replay):
    shown = repr(replay.at(7))
    assert "line    model.py:9 forward (forward: aten.exp.default 5)" in shown
