"""Two adapters are combined and saved; the one that was trained is evaluated."""

import torch

from ftlab.faults.adapter.several_adapters.combined_with_rslora import two_trained
from ftlab.faults.builders import Case, Healthy, batches, current, folder, plain_case


def build() -> Case:
    """Combine, save, evaluate: the combination is never active."""
    model = two_trained()
    made, names = batches(), [current().adapter, "other"]

    def afterwards() -> None:
        model.add_weighted_adapter(names, [0.5, 0.5], "both", combination_type="cat")
        model.save_pretrained(folder(model), selected_adapters=["both"])
        model.eval()
        with torch.no_grad():
            model(**made[0])

    return plain_case(model, rows=made, afterwards=afterwards)


HEALTHY = Healthy(
    "a combination that is never active while another adapter is evaluated",
    looks_like=("ADP038", "ADP028"),
)
