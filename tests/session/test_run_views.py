"""Views that need a real training: evaluation, and losses of single samples."""

import torch
from transformers import Trainer, TrainingArguments

import ftlab
from tests.models import tiny_llama
from tests.session.scenarios import seed


class RandomTokens(torch.utils.data.Dataset):
    def __init__(self, count, start):
        drawn = torch.Generator().manual_seed(start)
        self.rows = torch.randint(0, 128, (count, 12), generator=drawn)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return {"input_ids": self.rows[index], "labels": self.rows[index]}


def test_a_model_that_learns_by_heart_is_seen_in_live_and_opened_runs(tmp_path):
    seed()
    built = Trainer(
        model=tiny_llama(),
        args=TrainingArguments(
            output_dir=str(tmp_path / "out"),
            use_cpu=True,
            report_to=[],
            max_steps=60,
            per_device_train_batch_size=8,
            learning_rate=3e-3,
            eval_strategy="steps",
            eval_steps=6,
            save_strategy="no",
            disable_tqdm=True,
        ),
        train_dataset=RandomTokens(16, 0),
        eval_dataset=RandomTokens(16, 1),
    )
    with ftlab.watch(built, run_dir=tmp_path / "run") as watch:
        built.train()
    assert watch.divergence.diverges
    assert 0 < watch.divergence.since < 30
    opened = ftlab.open_run(tmp_path / "run").divergence
    assert repr(opened) == repr(watch.divergence)
