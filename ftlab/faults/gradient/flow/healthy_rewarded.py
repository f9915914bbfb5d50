"""TRL's RewardTrainer: a new head of one output, and LoRA below it."""

import itertools

from ftlab.faults.builders import Case, Healthy, batches, lora_config, set_seed, sizes
from ftlab.faults.builders.trainers import case_of, dataset, quiet, texts, words


def build() -> Case:
    """Build a reward model that prefers true continuations."""
    from transformers import LlamaConfig, LlamaForSequenceClassification
    from trl import RewardConfig, RewardTrainer

    set_seed(0)
    model = LlamaForSequenceClassification(LlamaConfig(**sizes(), num_labels=1))
    cut = [row.split() for row in texts(8 * len(batches()))]
    rows = [
        {"chosen": " ".join(one), "rejected": " ".join(one[:4] + two[4:])}
        for one, two in itertools.pairwise(cut)
    ]
    trainer = RewardTrainer(
        model,
        args=RewardConfig(**quiet(), max_length=32),
        train_dataset=dataset(rows),
        processing_class=words(),
        peft_config=lora_config(model, task_type="SEQ_CLS", modules_to_save=["score"]),
    )
    return case_of(trainer)


HEALTHY = Healthy(
    "the original head has no gradient; the loss begins at log 2",
    looks_like=("GRD003", "OPT002", "ADP001"),
    needs=("trl>=0.24", "datasets"),
)
