from dataclasses import replace

from ftlab.views.replay.grades import GRADES, Grades
from ftlab.views.replay.tree import Tree
from tests.views.traced import deep_trace, op, small_trace, update_trace


def rows(trace, at):
    return Tree(trace, Grades(trace)).rows(at)


def labels(trace, at):
    return ["  " * row.depth + row.label for row in rows(trace, at)]


def named(trace, at):
    return {row.label: row for row in rows(trace, at)}


def test_the_path_to_the_culprit_is_open_and_the_rest_folded():
    assert labels(small_trace(), 5) == [
        "model",
        "  embed",
        "  layers.0",
        "  layers.1",
        "    attn",
        "    mlp",
        "(the step's own code)",
    ]


def test_the_path_to_the_culprit_is_open_before_it_has_run():
    assert "    mlp" in labels(small_trace(), 0)


def test_the_path_to_where_the_replay_stands_is_open_too():
    assert (
        "    mlp"
        in labels(small_trace(), 2)[: labels(small_trace(), 2).index("  layers.1")]
    )


def test_ranges_grow_as_the_replay_goes_on():
    grades = [named(small_trace(), at)["layers.1"].grade for at in (2, 3, 4, 5)]
    assert grades == [-1, 1, 2, 3]
    assert GRADES[grades[-1]] == "non-finite"


def test_forward_and_backward_have_a_column_each():
    trace = small_trace()
    assert Tree(trace, Grades(trace)).columns == ("forward", "backward")
    assert named(trace, 5)["model"].worst == (5, -1)
    assert named(trace, 12)["embed"].worst == (0, 12)


def test_eighty_layers_are_a_few_rows():
    found = labels(deep_trace(), 71)
    assert found == [
        "model.layers.0 to 60",
        "model.layers.61.mlp",
        "model.layers.62 to 70",
        "model.layers.71.mlp",
        "model.layers.72 to 79",
    ]


def test_a_folded_row_leads_to_its_worst_operation():
    assert named(deep_trace(), 71)["model.layers.62 to 70"].at == 63
    assert named(deep_trace(), 71)["model.layers.72 to 79"].at == 72


def test_the_rows_of_culprit_and_position_are_marked():
    found = rows(small_trace(), 5)
    assert [row.label for row in found if row.culprit] == ["model", "layers.1", "mlp"]
    assert [row.label for row in found if row.here] == ["model", "layers.1", "mlp"]
    found = rows(small_trace(), 0)
    assert [row.label for row in found if row.here] == ["model", "embed"]


def test_an_update_is_shown_by_parameter():
    assert labels(update_trace(), 1) == [
        "the optimizer's step",
        "  model.layers.0.q.weight",
        "  model.layers.1.q.weight",
        "  model.layers.2.q.weight",
        "  model.layers.3.q.weight",
        "  (several parameters at once)",
    ]


def test_parameters_of_a_module_stand_together():
    names = ["head.q.weight", "head.q.bias", "body.weight"]
    ops = [
        op(i, None, 1.0, phase="optimizer", parameter=name, parents=())
        for i, name in enumerate(names)
    ]
    found = labels(replace(update_trace(), ops=tuple(ops), culprit=0), 2)
    assert found == [
        "the optimizer's step",
        "  head.q",
        "    weight",
        "    bias",
        "  body.weight",
    ]


def test_operations_of_the_model_itself_stand_at_its_row():
    trace = replace(small_trace(), ops=(op(0, "", 1.0), op(1, "head", 1.0)), culprit=-1)
    assert labels(trace, 1) == ["the model", "  head"]


def test_what_all_paths_begin_with_ends_before_the_blocks():
    trace = deep_trace()
    assert Tree(trace, Grades(trace)).prefix == "model."
