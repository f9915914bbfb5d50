"""The rule MOD002, quantised-weights-never-train.

## What it does
Finds a model whose blocks are trained (their norms, biases or other small parts) while
all their matrices are quantised and have no adapter.

## Why is this bad?
Quantised weights cannot be updated. A custom loop runs all the same: embeddings, norms
and the head move a little, the loss with them, but the transformer does not change.
transformers' Trainer refuses such a model; other loops do not.

## Evidence
Facts: the quantised layers, and that there is no PEFT configuration; the trainable
tensors of numbered blocks, none of which belongs to an adapter; and an optimizer or a
step, since a model used only for inference has the same trainable tensors. Training
only a head, on a quantised body that is frozen on purpose, is not reported: then
nothing within the blocks is trainable. There is no threshold.
Measured: of 14 quantised matrices 0 bytes changed in 4 steps of AdamW, while 4 norms,
the embedding and the head moved.

## What to try
1. QLoRA: `prepare_model_for_kbit_training(model)`, then `get_peft_model(model,
   LoraConfig(target_modules="all-linear", ...))`.
2. Load the model in bf16 for full fine-tuning.
By hand: `[n for n, p in model.named_parameters() if p.requires_grad]` lists no weight
of a linear layer.

## Known problems
Tuning only norms or biases of a quantised model on purpose looks the same.

## Known myths
"Without prepare_model_for_kbit_training QLoRA does not learn": measured on a CPU with
peft 0.21.2, a Llama of width 128 in NF4 with LoRA on all layers, 60 steps: a mean loss
of 3.657 to 3.661 in all of 15 runs, with and without it, with norms in bf16 or float32,
with and without autocast, and with a compute dtype of bf16, float16 or float32 for a
model in bf16; no trainable tensor lacked a gradient. What it changes is memory (norms
and heads in float32) and checkpointing. Activations above 65,504, where float16
overflows, were not measured.

## References
- huggingface/transformers#30526 (a purely quantised model cannot be trained)
"""

import re
from collections.abc import Sequence

from ftlab.rules.reading.needs import needs_model_facts
from ftlab.rules.reading.tensors import text_of
from ftlab.rules.reading.wiring import is_trained
from ftlab.rules.rule import Results, Rule, Run
from ftlab.rules.words import counted, in_words

_IN_BLOCK = re.compile(r"(?:^|\.)\d+\.")


class QuantisedWeightsNeverTrain(Rule):
    """Finds blocks that are trained but for all their quantised matrices."""

    code = "MOD002"
    status = "stable"
    requires = needs_model_facts

    def applies(self, run: Run) -> bool:
        """Leave models without quantised layers, with adapters or only used, out."""
        model = run.facts.model
        bare = bool(model.get("quantized")) and not model.get("peft")
        return not model or (bare and is_trained(run))

    def check(self, run: Run) -> Results:
        """Yield one finding."""
        layers = [name for name in run.facts.model["quantized"] if _in_block(name)]
        trained = [
            record
            for record in run.names().values()
            if record.trainable and _in_block(record.name)
        ]
        roles = {text_of(record, "role") for record in trained}
        if not layers or not trained or roles - {"weight"}:
            return
        if any(_is_within(record.name, layers) for record in trained):
            return
        step = max(run.last_step, 0)
        moving = [record.name for record in run.names().values() if record.trainable]
        yield self.error(
            f"step {step}: {counted(len(layers), 'quantised layer')} cannot be trained "
            f"and have no adapter; only {in_words(moving)} are trained",
            cause="The model was loaded quantised and is trained without an adapter. "
            "Quantised weights do not require gradients; only unquantised parameters "
            "change.",
            fix="Put LoRA on the quantised layers (prepare_model_for_kbit_training, "
            "then get_peft_model with target_modules='all-linear'), or load the model "
            "in bf16.",
            places={"module": layers, "param": [f"{name}.weight" for name in layers]},
            steps=(0, step),
            evidence={
                "quantised_layers": len(layers),
                "trained_in_blocks": len(trained),
                "threshold": 0,
            },
            healthy="each quantised layer that should learn has an adapter",
        )


def _in_block(name: str) -> bool:
    return _IN_BLOCK.search(name) is not None


def _is_within(name: str, layers: Sequence[str]) -> bool:
    """Tell whether a tensor is a bias or another part of a quantised layer's weight."""
    owner, _, part = name.rpartition(".")
    return part == "weight" and owner in layers
