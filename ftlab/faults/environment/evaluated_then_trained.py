"""The base is evaluated in bfloat16 first, and then trained in it.

With ``bf16_full_eval=True`` an evaluation outside of training casts the model, and
leaves it so: the training after it has no float32 weights any more.

Fix: ``bf16_full_eval=False`` for a Trainer that trains.
Source: huggingface/transformers#10268 (how it was made), Trainer.evaluation_loop.
"""

from ftlab.faults.builders import Case, Fault, base, batches, rows_of, trained


def build(fixed: bool) -> Case:
    """Build a Trainer whose user looks at the base's loss before it trains."""
    further = {"eval_dataset": rows_of(batches(2, seed=3))}
    model = base()
    model.config.dtype = model.dtype  # as from_pretrained does
    case = trained(model, max_steps=8, bf16_full_eval=not fixed, trainer=further)
    case.trainer.evaluate()
    return case


FAULT = Fault(
    "training learns less after trainer.evaluate() than without it",
    code="ENV006",
    places=("config bf16_full_eval",),
    steps=8,
    evident=-1,
    also=("NUM002",),
    families=("llama", "gpt2", "neox"),
)
