"""An adapter and its negative are active at once.

Task arithmetic: what an adapter has learned is to be taken away, so a combination with
a weight of -1 is made, and put *beside* the adapter in place of onto the base. Both add
up to nothing.

Fix: ``model.set_adapter("default")`` alone, or the negative alone.
Source: seed; Ilharco et al. 2023, arXiv:2212.04089; `LoraModel.add_weighted_adapter`.
"""

from ftlab.faults.adapter.several_adapters.combined_with_rslora import two_trained
from ftlab.faults.builders import Case, Fault, current, plain_case


def build(fixed: bool) -> Case:
    """Build an adapter that is trained on, with its negative active or not."""
    model, own = two_trained(), current().adapter
    model.add_weighted_adapter([own], [-1.0], "away", combination_type="cat")
    model.base_model.set_adapter([own] if fixed else [own, "away"])
    return plain_case(model, lr=1e-4)


FAULT = Fault(
    "an adapter with two parts answers like the base",
    code="ADP062",
    places=("config active_adapters",),
    evident=1,
    families=("llama", "gpt2", "neox", "own"),
)
