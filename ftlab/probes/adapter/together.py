"""How large the sum of all active LoRA updates of a layer is."""

from collections.abc import Iterable

import torch

from ftlab.probes.adapter.lora_pairs import LoraPair
from ftlab.probes.adapter.spectrum import cosine, gram
from ftlab.records.attributes import attribute_of


def together(pairs: Iterable[LoraPair]) -> dict[str, torch.Tensor]:
    """Norm of the summed updates of each layer in which several adapters are active.

    Returns
    -------
    dict
        By name of each of these pairs, float64 scalars; the sum is never formed.
    """
    layers: dict[int, list[LoraPair]] = {}
    for pair in pairs:
        if pair.a is not None and pair.b is not None and _adds(pair):
            layers.setdefault(id(pair.layer), []).append(pair)
    found: dict[str, torch.Tensor] = {}
    for several in (each for each in layers.values() if len(each) > 1):
        downs = [each.a.double() for each in several if each.a is not None]
        ups = [e.b.double() * e.scaling for e in several if e.b is not None]
        a_norm, a_gram = gram(torch.cat(downs)[None])
        b_norm, b_gram = gram(torch.cat(ups, 1).mT[None])
        norm = (a_norm * b_norm * cosine(a_gram, b_gram))[0]
        found |= {each.name: norm for each in several}
    return found


def _adds(pair: LoraPair) -> bool:
    layer = pair.layer
    return (
        pair.adapter in layer.active_adapters
        and not layer.disable_adapters
        and pair.adapter not in (attribute_of(layer, "merged_adapters") or ())
    )
