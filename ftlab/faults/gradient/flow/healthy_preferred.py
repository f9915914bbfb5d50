"""TRL's DPOTrainer on an adapter: the reference is the model without it.

The loss begins at log 2, and both answers go through the model in one batch.
"""

from ftlab.faults.builders import Case, Healthy, llama, lora_config
from ftlab.faults.builders.preferences import rated_texts
from ftlab.faults.builders.trainers import case_of, dataset, quiet, words


def build() -> Case:
    """Build DPO between continued rows and rows of other starts."""
    from trl import DPOConfig, DPOTrainer

    model = llama()
    trainer = DPOTrainer(
        model,
        args=DPOConfig(**quiet(), beta=0.1, max_length=32),
        train_dataset=dataset(rated_texts()),
        processing_class=words(),
        peft_config=lora_config(model),
    )
    return case_of(trainer)


HEALTHY = Healthy(
    "forwards with the adapter off, a loss that begins at 0.69 and goes to 0",
    looks_like=("GRD003", "ADP001", "GRD001", "ADP003", "ADP031"),
    needs=("trl>=0.24", "datasets"),
)
