"""TRL's GRPOTrainer: answers are drawn, rewarded and compared within their group.

The loss is about 0 at every step. Where all answers of a group get the same reward,
each gradient of the step is exactly 0.
"""

from typing import Any

from ftlab.faults.builders import Case, Healthy, llama, lora_config
from ftlab.faults.builders.trainers import case_of, dataset, quiet, texts, words


def low_words(completions: list[str], **_: Any) -> list[float]:
    """Reward words of the lower half of the vocabulary."""
    numbers = [[int(word[1:]) for word in text.split()] for text in completions]
    return [sum(n < 64 for n in each) / max(len(each), 1) for each in numbers]


def build() -> Case:
    """Build GRPO with four answers of four words."""
    from trl import GRPOConfig, GRPOTrainer

    model = llama()
    rows = [{"prompt": " ".join(row.split()[:4])} for row in texts()]
    settings = quiet() | {"per_device_train_batch_size": 4}
    trainer = GRPOTrainer(
        model,
        reward_funcs=low_words,
        args=GRPOConfig(**settings, num_generations=4, max_completion_length=4),
        train_dataset=dataset(rows),
        processing_class=words(),
        peft_config=lora_config(model),
    )
    return case_of(trainer)


HEALTHY = Healthy(
    "a loss of about 0, forwards that only generate",
    looks_like=("GRD002", "GRD003", "GRD001", "NUM001"),
    needs=("trl>=0.24", "datasets"),
)
