"""TRL's SFTTrainer with the loss on completions, and prompts of a single token.

Nearly all tokens have a label; the few that have none are the prompts.
"""

from ftlab.faults.builders import Case, Healthy, llama, lora
from ftlab.faults.builders.trainers import case_of, dataset, quiet, texts, words


def build() -> Case:
    """Build supervised fine-tuning with prompts of one word."""
    from trl import SFTConfig, SFTTrainer

    rows = [
        {"prompt": row[0], "completion": " " + " ".join(row[1:])}
        for row in map(str.split, texts())
    ]
    options = quiet() | {"max_steps": 12, "gradient_checkpointing": False}
    trainer = SFTTrainer(
        lora(llama()),
        SFTConfig(**options, completion_only_loss=True),
        train_dataset=dataset(rows),
        processing_class=words(),
    )
    return case_of(trainer)


HEALTHY = Healthy(
    "all tokens but one of each row are trained on",
    looks_like=("ENV008",),
    steps=12,
    needs=("trl>=0.24", "datasets"),
)
