"""Sources of randomness of real runs."""

import pytest

from ftlab.records.event import Event
from ftlab.records.facts import Facts
from ftlab.records.loader_start import LoaderStart
from ftlab.runlog.run import Run
from ftlab.runlog.seed_chain import sources_of
from tests.probes.seeds.trainings import train


def test_a_real_run_names_its_seed_and_its_workers():
    found = {each.name: each for each in sources_of(train(seed=5, num_workers=2))}
    assert found["torch"].value == "seed 5"
    assert found["order of samples"].value == "random, drawn with torch's generator"
    assert {"worker 0", "worker 1", "kernels"} <= set(found)


@pytest.mark.parametrize(
    ("start", "said"),
    [
        (LoaderStart(0, order="in order"), "in order"),
        (LoaderStart(0, order="stream", epoch=2), "that of the stream; set_epoch 2"),
        (LoaderStart(0, order="own", sampler="ByLength"), "that of ByLength"),
    ],
)
def test_orders_in_words(start, said):
    run = Run()
    run.append(Event("loader", 0, 0.0, "", start.as_json()))
    (source,) = sources_of(run)
    assert source.value == said


def test_a_seed_that_torch_has_drawn_itself_is_not_fixed():
    run = Run()
    run.append(Facts(training={"randomness": {"torch_seed": 1 << 60}}))
    (source,) = sources_of(run)
    assert source.fixed is False
