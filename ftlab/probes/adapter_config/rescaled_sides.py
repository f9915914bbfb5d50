"""On which side of a layer IA3 multiplies: what goes into it, or what comes out.

The layers of ``feedforward_modules`` are scaled at their input, all others at their
output. For the last layer of a feed-forward part that is the difference between its
inner activations, which are wide, and what it adds to the residual stream.
"""

from collections.abc import Sequence
from typing import Any

from ftlab.probes.adapter.adapter_tree import Layer, bounded
from ftlab.records.attributes import attribute_of, has_attribute


def rescaled_sides(config: Any, layers: Sequence[Layer], model: Any) -> dict[str, Any]:
    """Name the layers that IA3 scales, by side.

    Parameters
    ----------
    layers
        Those that hold the adapter.
    model
        The model that the configuration speaks of.

    Returns
    -------
    dict
        ``at_input``, ``at_output``, of the latter ``narrowing`` (wider at their input
        than at their output), and whether all is ``as_by_default`` of PEFT for this
        kind of model. Empty for other methods.
    """
    known = [each for each in layers if has_attribute(each.module, "is_feedforward")]
    if not known:
        return {}
    outside = [each for each in known if not each.module.is_feedforward]
    narrowing = [each for each in outside if _narrows(each.module)]
    return {
        "at_input": bounded([e.name for e in known if e.module.is_feedforward]),
        "at_output": bounded([each.name for each in outside]),
        "narrowing": bounded([each.name for each in narrowing]),
        "as_by_default": _is_default(config, model),
    }


def _narrows(module: Any) -> bool:
    return int(module.in_features) > int(module.out_features)


def _is_default(config: Any, model: Any) -> bool:
    from peft.utils import constants

    kind = getattr(attribute_of(model, "config"), "model_type", "")
    table = constants.TRANSFORMERS_MODELS_TO_IA3_FEEDFORWARD_MODULES_MAPPING
    own = config.feedforward_modules
    if kind not in table or not isinstance(own, set | list | tuple):
        return False
    return set(own) == set(table[kind])
