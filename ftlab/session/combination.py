"""`ftlab.combination`: a weighted sum of adapters, and what PEFT makes of it."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ftlab.laboratory.combining import all_kinds, combined
from ftlab.probes.adapter.lora_pairs import lora_pairs
from ftlab.records.errors import BadValueError
from ftlab.session.given_models import batch_of, model_of, on_device
from ftlab.views.adapters.combination import CombinationView


def combination(
    model: Any,
    weights: Mapping[str, float],
    batch: Any = None,
    *,
    kinds: Sequence[str] = (),
    density: float = 0.5,
) -> CombinationView:
    """Combine LoRA adapters in every way that PEFT has, and say what each way loses.

    `add_weighted_adapter` is called for each combination type on the live model; what
    it has made is held against the weighted sum of the adapters' updates, layer by
    layer (of factors alone: B A is never formed here), and against what the model
    answers with that sum. The model is left as it was.

    Parameters
    ----------
    model
        A PeftModel with these LoRA adapters, or a trainer of one.
    weights
        By adapter; they may be negative.
    batch
        Keyword arguments of the model, on which next tokens are compared.
    kinds
        Some of PEFT's combination types; all, where none is named. Those with
        ``"svd"`` decompose whole matrices: many seconds for each layer of a large model.
    density
        Share of values that types which prune keep. What DARE drops is drawn, once.

    Returns
    -------
    CombinationView
        ``combinations`` holds the numbers, ``exact`` the types that lose nothing.

    Raises
    ------
    BadValueError
        Something else was passed, or an adapter is not there or no LoRA.

    Examples
    --------
    >>> import ftlab
    >>> from ftlab.faults.builders.tiny import lora
    >>> model = lora()
    >>> model.add_adapter("more", model.peft_config["default"])
    >>> for name, parameter in model.named_parameters():
    ...     if "lora_B" in name:
    ...         _ = parameter.data.normal_()
    >>> found = ftlab.combination(model, {"default": 0.7, "more": 0.3})
    >>> found.exact, found.combinations.combinations[0].kind
    (('cat',), 'svd')
    """
    chosen, known = model_of(model, "model"), all_kinds()
    there = {p.adapter for p in lora_pairs(chosen) if p.a is not None}
    given = weights if isinstance(weights, Mapping) else {}
    numbers = all(
        isinstance(w, int | float) and math.isfinite(w) for w in given.values()
    )
    unknown = [n for n in given if n not in there]
    if (
        not given
        or not numbers
        or unknown
        or not hasattr(chosen, "add_weighted_adapter")
    ):
        msg = (
            f"weights={weights!r} for LoRA adapters {sorted(there)}; pass the weight of "
            'each: combination(peft_model, {"a": 0.7, "b": 0.3}).'
        )
        raise BadValueError(msg)
    wrong = [each for each in kinds if each not in known]
    if isinstance(kinds, str) or wrong:
        msg = f"kinds={kinds!r}: PEFT has {', '.join(known)}; pass some in a tuple."
        raise BadValueError(msg)
    if not isinstance(density, int | float) or not 0 < density <= 1:
        msg = f"density={density!r}: pass a share above 0, and of 1 at most."
        raise BadValueError(msg)
    batch = None if batch is None else on_device(batch_of(batch), chosen)
    ways = tuple(kinds) or known
    return CombinationView(combined(chosen, given, batch, ways, {"density": density}))
