from ftlab.records.path_pattern import is_module


def test_a_pattern_may_begin_anywhere_but_at_a_dot():
    assert is_module("model.layers.3.mlp", "layers.3.mlp")
    assert not is_module("model.layers.13.mlp", "3.mlp")
    assert not is_module("model.layers.3.mlp.up", "layers.3.mlp")


def test_a_star_stands_for_anything():
    assert is_module("model.layers.3.mlp.up", "layers.*.up")
