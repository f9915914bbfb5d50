"""Tokens are added in the middle of the run, and the optimizer's next step fails.

``resize_token_embeddings`` gives the parameter new data. The optimizer still holds it,
with moments for the old number of rows: "The size of tensor a (128) must match the size
of tensor b (136)".

Fix: build the optimizer anew after the resize, or resize before it is built.
Source: measured; a kin is huggingface/transformers#3532 (resized after the optimizer).
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, adamw, base, batches

MOMENT = 3


def build(fixed: bool) -> Case:
    """Build a model with tied embeddings that gets eight tokens after three steps."""
    model = base()
    model.config.tie_word_embeddings = True
    model.tie_weights()
    optimizer = adamw(model)

    def step(batch: Any) -> float:
        if len(case.losses) == MOMENT:
            model.resize_token_embeddings(136, mean_resizing=False)
            if fixed:
                optimizer.param_groups.clear()
                optimizer.state.clear()
                optimizer.add_param_group({"params": list(model.parameters())})
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    case = Case(model, optimizer, batches(), step)
    return case


FAULT = Fault(
    "the optimizer's step fails over the sizes of two tensors",
    code="OPT006",
    places=("param *",),
    evident=3,
    silent=False,
    families=("llama", "gpt2"),
    also=("OPT001",),
)
