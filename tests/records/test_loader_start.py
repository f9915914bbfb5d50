"""How a loader began, written down and read again."""

import json

from ftlab.records.loader_start import LoaderStart, WorkerStart

STARTED = (WorkerStart(0, 7, {"rng_torch": 1.0}), WorkerStart(2, 9))


def test_it_survives_json():
    start = LoaderStart(3, 1, "Rows", "RandomSampler", "random", 5, 2, 3, STARTED)
    read = json.loads(json.dumps(start.as_json()))
    assert LoaderStart.from_json(read | {"later": 1}) == start


def test_batches_go_round_the_workers():
    start = LoaderStart(0, workers=3, started=STARTED)
    assert start.worker_of(0) == start.worker_of(3) == STARTED[0]
    assert start.worker_of(1) is None
    assert start.worker_of(5) == STARTED[1]
    assert LoaderStart(0).worker_of(0) is None
