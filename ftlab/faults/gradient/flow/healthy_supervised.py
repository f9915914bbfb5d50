"""TRL's SFTTrainer: prompt and completion, the loss on the completion only, packed."""

from ftlab.faults.builders import Case, Healthy, llama, lora_config
from ftlab.faults.builders.trainers import case_of, dataset, quiet, texts, words


def build() -> Case:
    """Build supervised fine-tuning of an adapter that the trainer makes."""
    from trl import SFTConfig, SFTTrainer

    model = llama()
    rows = [
        {"prompt": " ".join(row[:4]), "completion": " " + " ".join(row[4:])}
        for row in map(str.split, texts())
    ]
    trainer = SFTTrainer(
        model,
        SFTConfig(**quiet(), max_length=32, gradient_checkpointing=True),
        train_dataset=dataset(rows),
        processing_class=words(),
        peft_config=lora_config(model),
    )
    return case_of(trainer)


HEALTHY = Healthy(
    "the labels of prompts are ignored, adapters are made by the trainer",
    looks_like=("GRD003", "ADP001", "OPT003"),
    needs=("trl>=0.24", "datasets"),
)
