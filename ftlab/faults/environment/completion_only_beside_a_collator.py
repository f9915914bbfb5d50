"""The loss shall be on completions alone, and the collator makes labels of all tokens.

TRL marks the prompt with a mask that only its own collator reads. The one of
transformers, handed over, labels every token: prompts are learnt too.

Fix: no ``data_collator``, or one that sets the prompts' labels to -100.
Source: huggingface/trl#1507, huggingface/trl#3315 (prompts in the loss).
"""

from ftlab.faults.builders import Case, Fault, llama, lora
from ftlab.faults.builders.trainers import case_of, dataset, quiet, texts, words


def build(fixed: bool) -> Case:
    """Build supervised fine-tuning on prompts and completions."""
    from transformers import DataCollatorForLanguageModeling
    from trl import SFTConfig, SFTTrainer

    rows = [
        {"prompt": " ".join(row[:4]), "completion": " " + " ".join(row[4:])}
        for row in map(str.split, texts())
    ]
    options = quiet() | {"max_steps": 4, "gradient_checkpointing": False}
    tokenizer = words()
    own = None if fixed else DataCollatorForLanguageModeling(tokenizer, mlm=False)
    trainer = SFTTrainer(
        lora(llama()),
        SFTConfig(**options, completion_only_loss=True),
        train_dataset=dataset(rows),
        processing_class=tokenizer,
        data_collator=own,
    )
    return case_of(trainer)


FAULT = Fault(
    "the model continues prompts instead of answering them",
    code="ENV008",
    places=("config completion_only_loss",),
    steps=4,
    evident=0,
    needs=("trl>=0.24", "datasets"),
)
