"""Two runs of one training pass; what is worse or set up otherwise is told, and why."""

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
import torch

import ftlab
from ftlab.records.errors import BadValueError, RunFolderError
from ftlab.runlog.run import Run
from ftlab.views.steps.baseline import BaselineView
from tests.models import Rows, tiny_lora
from tests.test_cli import ftlab as command

pytestmark = [pytest.mark.xdist_group("baseline"), pytest.mark.slow]

STEPS = 40
CALM = {"step seconds": 3.0, "slow steps": 9.0, "throughput": 3.0}
"""Tests share their processors: only what is many times as slow counts here."""

SLEEP = 0.1
"""Seconds that a slow row takes; a batch has four."""

CHECKS = [
    "steps",
    "settings",
    "tokenizer",
    "rows per step",
    "tokens per step",
    "loss",
    "finite losses",
    "loss noise",
    "gradients",
    "step seconds",
    "slow steps",
    "throughput",
    "memory",
    "memory growth",
    "checkpoints",
]


def tokenizer(*more: str) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = ["<unk>", "<pad>", "a", "b", *more]
    vocabulary = {word: at for at, word in enumerate(words)}
    inner = Tokenizer(models.WordLevel(vocabulary, "<unk>"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", unk_token="<unk>"
    )


class Slow(Rows):
    """Rows that take their time."""

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        time.sleep(SLEEP)
        return super().__getitem__(index)


def trained(
    folder: Path,
    name: str,
    *,
    rows: type[Rows] = Rows,
    seed: int = 0,
    words: tuple[str, ...] = (),
    leak: int = 0,
    **settings: Any,
) -> Path:
    from transformers import Trainer, TrainingArguments, default_data_collator

    kept = []

    class Leaking(Trainer):
        def compute_loss(self, *args: Any, **kwargs: Any) -> Any:
            if leak:
                kept.append(torch.ones(leak * 2**18))  # MiB that stay
            return super().compute_loss(*args, **kwargs)

    given = {"learning_rate": 2e-3, "seed": seed, "data_seed": seed} | settings
    arguments = TrainingArguments(
        str(folder / "out"),
        max_steps=STEPS,
        per_device_train_batch_size=4,
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
        save_strategy="no",
        **given,
    )
    made = Leaking(
        tiny_lora(seed=seed),
        arguments,
        train_dataset=rows(256),
        processing_class=tokenizer(*words),
        data_collator=default_data_collator,
    )
    asked = ftlab.Checkpoint(folder / f"safe-{name}", every=20)
    with ftlab.watch(made, run_dir=folder / name, checkpoint=asked):
        made.train()
    return folder / name


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same training again, and five that are not as it."""
    folder = tmp_path_factory.mktemp("runs")
    return {
        "warm": trained(folder, "warm"),
        "base": trained(folder, "base"),
        "same": trained(folder, "same"),
        "seed": trained(folder, "seed", seed=1),
        "double": trained(folder, "double", learning_rate=4e-3),
        "words": trained(folder, "words", words=("c",)),
        "slow": trained(folder, "slow", rows=Slow),
        "leak": trained(folder, "leak", leak=4),
    }


def held(
    runs: dict[str, Path], name: str, allowed: dict[str, float] = CALM
) -> BaselineView:
    return ftlab.open_run(runs[name]).compare(runs["base"], allowed=allowed)


@pytest.mark.parametrize("name", ["same", "seed"])
def test_the_same_training_passes(runs: dict[str, Path], name: str) -> None:
    found = held(runs, name)
    assert (found.verdict, found.reasons) == ("ok", ())
    assert list(found.table()["name"]) == CHECKS
    assert set(found.table()["state"]) == {"holds"}


@pytest.mark.parametrize(
    ("name", "verdict", "reasons", "says"),
    [
        ("double", "different", {"settings"}, "learning_rate 0.002, now 0.004"),
        ("words", "different", {"tokenizer"}, "vocabulary"),
        ("leak", "worse", {"memory growth"}, "%, now +"),
    ],
)
def test_what_is_otherwise_is_told_with_its_reason(
    runs: dict[str, Path], name: str, verdict: str, reasons: set[str], says: str
) -> None:
    found = held(runs, name)
    assert found.verdict == verdict
    assert {each.name for each in found.reasons} >= reasons
    extra = {"memory", *CALM} if name == "leak" else set()
    assert {each.name for each in found.reasons} <= reasons | extra
    assert says in " ".join(each.says for each in found.reasons)


def test_slow_rows_make_every_time_worse(runs: dict[str, Path]) -> None:
    found = held(runs, "slow", dict.fromkeys(CALM, 3.0))
    assert found.verdict == "worse"
    assert [each.name for each in found.reasons] == list(CALM)
    (now,) = re.findall(r"s, now (\S+) s, ", found.reasons[0].says)
    assert float(now) >= 4 * SLEEP


def test_another_model_is_not_comparable(runs: dict[str, Path], tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with ftlab.watch(model, optimizer, run_dir=tmp_path / "run") as watch:
        for _ in range(30):
            optimizer.zero_grad()
            model(torch.ones(1, 2)).sum().backward()
            optimizer.step()
    found = watch.compare(runs["base"])
    assert found.verdict == "not comparable"
    assert "another model" in found.reasons[0].says


def test_a_baseline_is_kept_in_a_file(runs: dict[str, Path], tmp_path: Path) -> None:
    opened = ftlab.open_run(runs["base"])
    assert opened.save_baseline() == runs["base"].with_name("base.baseline.json")
    file = opened.save_baseline(tmp_path / "b.json")
    again = ftlab.open_run(runs["same"])
    whole, from_file = (again.compare(each, allowed=CALM) for each in (opened, file))
    assert repr(whole) == repr(from_file)
    assert whole.figure().axes
    assert "ftlab-c-passed" in whole.widget().value


def test_is_a_gate(runs: dict[str, Path], tmp_path: Path) -> None:
    file = ftlab.open_run(runs["base"]).save_baseline(tmp_path / "b.json")
    limits = [f"--allow={name}={value}" for name, value in CALM.items()]
    passed = command("check", runs["same"], "--baseline", file, *limits)
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert "Against the baseline: ok" in passed.stdout
    told = command("check", runs["double"], "--baseline", file, "--json", *limits)
    assert told.returncode == 1
    found = json.loads(told.stdout)["baseline"]
    assert found["verdict"] == "different"
    (line,) = (e for e in found["lines"] if e["state"] == "broken")
    assert line["name"] == "settings"
    refused = command("check", runs["same"], "--baseline", runs["same"] / "run.json")
    assert refused.returncode == 2
    assert "is no baseline" in refused.stderr
    refused = command("check", runs["same"], "--baseline", file, "--allow", "los=2")
    assert refused.returncode == 2
    assert "near ones are 'loss'" in refused.stderr


def test_refuses_what_is_no_baseline(runs: dict[str, Path]) -> None:
    opened = ftlab.open_run(runs["base"])
    with pytest.raises(BadValueError, match="baseline is an int; pass the file"):
        opened.compare(3)
    with pytest.raises(RunFolderError, match=r"is no baseline: .*No such file"):
        opened.compare("nothing.json")
    with pytest.raises(BadValueError, match=r"allowed\['loss'\]='x': it is a factor"):
        opened.compare(runs["same"], allowed={"loss": "x"})
    with pytest.raises(BadValueError, match="has no step yet"):
        ftlab.session.baseline.save_baseline(Run(), None)
