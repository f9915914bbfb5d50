"""A baseline is a run's numbers, and comes back from its file as it was."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ftlab.records.errors import RunFolderError
from ftlab.records.event import Event
from ftlab.records.names import NameRecord
from ftlab.records.step import Block, StepRecord
from ftlab.runlog.baseline import baseline_of, load_baseline
from ftlab.runlog.run import Run

ZERO, ONE = "gradient of layers.0", "gradient of layers.1"


def sample(steps: int = 600) -> Run:
    run = Run()
    for at, layer in enumerate(["layers.0", "layers.0", "layers.1"]):
        run.append(NameRecord(at, "tensors", f"w{at}", "param", layer))
    for step in range(steps):
        norms = np.array([3.0, 4.0, step + 1.0], np.float32)
        ids = np.arange(3, dtype=np.int32)
        run.append(Block("tensors", step, ids, {"grad_l2": norms}))
        values = {
            "batch_size": 4.0,
            "seconds": 0.2,
            "cpu_wait": 0.1,
            "tokens": 5.0,
            "rss": 1e6 + step,
        }
        run.append(StepRecord(step, 0.0, loss=3.0 - step / 1e3, values=values))
    return run


def test_keeps_the_last_window() -> None:
    found = baseline_of(sample())
    assert found.steps.tolist() == list(range(100, 600))
    assert found.columns["loss"][0] == pytest.approx(2.9)
    assert found.columns["seconds"] == pytest.approx(0.1)  # without what it waited
    assert found.columns["tokens_per_second"] == pytest.approx(50.0)
    assert found.columns["memory"][-1] == 1e6 + 599
    assert found.columns["rows"] == pytest.approx(4.0)
    assert found.columns["tokens"] == pytest.approx(5.0)


def test_the_norm_of_a_layer_is_that_of_its_parameters() -> None:
    found = baseline_of(sample(30))
    assert found.columns[ZERO] == pytest.approx(5.0)
    assert found.columns[ONE] == pytest.approx(found.steps + 1.0)


def test_comes_back_from_its_file(tmp_path: Path) -> None:
    run = sample(30)
    run.append(StepRecord(30, 0.0, loss=float("nan")))
    for saved in (True, True, False):
        run.append(Event("checkpoint", 30, 0.0, "", {"saved": saved}))
    before = baseline_of(run)
    before.save(tmp_path / "b.json")
    after = load_baseline(tmp_path / "b.json")
    assert after.checkpoints == pytest.approx(2 / 3)
    assert list(before.columns) == list(after.columns)
    for name, values in before.columns.items():
        assert np.array_equal(values, after.columns[name], equal_nan=True)
    assert (after.settings, after.tokenizer) == (before.settings, before.tokenizer)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"steps": [0, 1]}, "do not have one number for each of its steps"),
        ({"columns": 3}, "do not have one number for each of its steps"),
        ({"more": 1}, "it holds ftlab_baseline, "),
        ({"ftlab_baseline": 99}, "a newer ftlab wrote it"),
    ],
)
def test_damage_is_named(change: dict[str, Any], says: str, tmp_path: Path) -> None:
    file = tmp_path / "b.json"
    baseline_of(sample(3)).save(file)
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(RunFolderError, match=says):
        load_baseline(file)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "it is not JSON"),
        ("[1]", "it holds a list, and should hold ftlab_baseline, steps, columns"),
        ('"x"', "it holds a str, and should"),
        ("{}", "it holds nothing, and should"),
        ('{"a": 1, "b": 2}', "it holds a, b, and should hold"),
        ('{"ftlab_baseline": "x"}', "it holds ftlab_baseline, and should"),
        ('{"ftlab_baseline": 1, "steps": []}', "and should hold ftlab_baseline, "),
    ],
)
def test_another_file_is_told_in_words(text: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "b.json"
    file.write_text(text)
    with pytest.raises(RunFolderError, match=rf"b\.json' is no baseline: .*{says}"):
        load_baseline(file)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="cannot be written: No such file"):
        baseline_of(sample(3)).save(tmp_path / "none" / "b.json")
