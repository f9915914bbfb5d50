"""RTP004, four-bits: rounded to 4 bits, it is still the fine-tuned model.

## What must hold
With its weights rounded to 4 bits (NF4, bitsandbytes), the merged model keeps more than
half of the adapter's effect, and is nearer to the live model than the base is.

## Why
A small fine-tuning is less than what 4 bits tell apart. Merged and rounded, or merged
into weights that have 4 bits already, it is gone, and the base is deployed.

## When it does not apply
Without bitsandbytes or an adapter that can be merged.

## What to try
Keep the adapter apart from the rounded base (as QLoRA does), or round to 8 bits.

## References
- Dettmers et al. 2023, "QLoRA: Efficient Finetuning of Quantized LLMs"
"""

import importlib.util
from typing import Any

from ftlab.executions.pairs import copied
from ftlab.executions.side import NotApplicableError
from ftlab.experiments.deployment.merged_files import merged_copy
from ftlab.experiments.deployment.rounded import rounded
from ftlab.experiments.deployment.station import Station
from ftlab.experiments.deployment.trip import Trip
from ftlab.records.outcome import Outcome


class FourBits(Station):
    """The live model, and the merged one in 4 bits."""

    code = "RTP004"
    name = "four-bits"
    relation = "merged and rounded to 4 bits, the fine-tuning is still there"
    cause = "What fine-tuning changed is less than what 4 bits tell apart."
    fix = "Keep the adapter apart from the rounded base, or round to 8 bits."

    def run(self, trip: Trip) -> Outcome:
        """Round a merged copy."""
        if trip.live.few_bits():
            if not hasattr(trip.model, "merge_and_unload"):
                msg = "it has 4 or 8 bits, and no adapter to merge into them"
                raise NotApplicableError(msg)
            return rounded(self, trip, copied(trip.model).merge_and_unload())
        if importlib.util.find_spec("bitsandbytes") is None:
            msg = "bitsandbytes is not installed"
            raise NotApplicableError(msg)
        return rounded(self, trip, _in_four_bits(trip))


def _in_four_bits(trip: Trip) -> Any:
    from transformers import BitsAndBytesConfig

    model, folder = trip.model, trip.room / "whole"
    whole = merged_copy(trip) if hasattr(model, "merge_and_unload") else model
    if not hasattr(whole, "save_pretrained"):
        msg = f"{type(model).__name__} has no save_pretrained()"
        raise NotApplicableError(msg)
    whole.save_pretrained(folder)
    dtype = next(model.parameters()).dtype
    settings = BitsAndBytesConfig(
        load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=dtype
    )
    return type(whole).from_pretrained(
        folder, dtype=dtype, quantization_config=settings
    )
