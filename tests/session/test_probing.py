"""``watch.probe``: handles, names, the list, trainers and opened runs."""

import gc

import pytest
import torch

import ftlab
from ftlab.records.errors import AttachError, BadValueError, UnknownNameError
from tests.models import batches
from tests.session.probing import ATTENTION, norm, watched_model
from tests.session.scenarios import trainer


@pytest.fixture
def watched(tmp_path):
    with watched_model(tmp_path) as parts:
        yield parts


def test_lower_priorities_run_first_and_can_be_changed(watched):
    watch, _, step = watched
    order = []
    late = watch.probe("layers.0.mlp.post", lambda _: order.append("late"), priority=5)
    watch.probe("layers.0.mlp.post", lambda _: order.append("a"))
    watch.probe("layers.0.mlp.post", lambda _: order.append("b"))
    step()
    late.priority = -1
    step()
    assert order == ["a", "b", "late", "late", "a", "b"]


@pytest.mark.parametrize("point", ["layers.0.mlp.post", "batch"])
def test_a_probe_is_turned_off_on_and_away(watched, point):
    watch, _, step = watched
    handle = watch.probe(point, lambda found: len(found))
    step()
    handle.enabled = False
    step()
    handle.enabled = True
    step()
    handle.remove()
    handle.remove()
    step()
    assert list(handle.values.index) == [0, 2]
    assert handle.state == "removed"
    assert len(watch.probes) == 0


def test_a_point_that_means_nothing_names_near_ones(watched):
    watch, _, _ = watched
    with pytest.raises(UnknownNameError, match=r"'layers\.\*\.self_attn\.post'"):
        watch.probe("layers.*.attention.post", norm)
    with pytest.raises(UnknownNameError, match="no point to probe"):
        watch.probe("layers.*.mlp", norm)
    with pytest.raises(BadValueError, match="is not callable"):
        watch.probe(ATTENTION, 3)
    assert len(watch.probes) == 0


def test_names_are_unique(watched):
    watch, _, _ = watched
    assert [watch.probe(ATTENTION, norm).name for _ in range(3)] == [
        "norm",
        "norm_2",
        "norm_3",
    ]
    with pytest.raises(BadValueError, match="already a probe 'norm'"):
        watch.probe(ATTENTION, norm, name="norm")


def test_the_list_of_probes_is_text_and_a_table(watched):
    watch, _, _ = watched
    assert "watch.probe(" in repr(watch.probes)
    watch.probe(ATTENTION, norm, priority=2)
    watch.probe("gradients", len, name="count").enabled = False
    assert repr(watch.probes).splitlines() == [
        "2 probes",
        "count  gradients  1 place  priority 0  off",
        "norm  layers.*.self_attn.post  2 places  priority 2  on",
    ]
    assert watch.probes.table()["state"].tolist() == ["off", "on"]


def test_probes_of_a_trainer_wait_for_each_train(tmp_path):
    built = trainer(max_steps=2)
    with ftlab.watch(built, run_dir=tmp_path / "run") as watch:
        with pytest.raises(UnknownNameError, match="near ones"):
            watch.probe("layers.*.attention.post", norm)
        handle = watch.probe(ATTENTION, norm)
        assert handle.values.empty
        built.train()
        first = handle.values
        built.train()
        assert len(first) == len(handle.values) == 2
        assert watch.run_dir.name == "run-2"
        assert not first.equals(handle.values)
    with pytest.raises(AttachError, match="has ended"):
        watch.probe(ATTENTION, norm)


def test_values_are_in_the_opened_run(watched, tmp_path):
    watch, _, step = watched
    handle = watch.probe(ATTENTION, norm)
    step()
    live = handle.values
    watch.detach()
    opened = ftlab.open_run(tmp_path / "run").run
    matrix = opened.matrix("value", table="user")
    assert matrix.values.tolist() == live.to_numpy().tolist()
    names = [record.name for record in opened.names("user").values()]
    assert names[0] == "base_model.model.model.layers.0.self_attn.post norm"


def test_nothing_of_a_probe_stays_on_the_model(watched):
    watch, model, step = watched
    watch.probe(ATTENTION, norm)
    watch.probe("mlp.grad", norm)
    step()
    model(**next(batches(1)))  # no backward follows
    watch.detach()
    hooked = [
        path
        for path, m in model.named_modules()
        if m._forward_hooks or m._forward_pre_hooks
    ]
    assert hooked == []


def test_the_watch_lets_go_of_a_model_that_nobody_holds(tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    watch = ftlab.watch(model, optimizer, run_dir=tmp_path / "run")
    watch.probe("0.post", norm)
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    del model, optimizer
    gc.collect()
    assert watch.state == "ended"
