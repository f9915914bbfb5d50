"""RTP003, merged-files: merged, saved and loaded, it is the same.

## What must hold
The merged model, loaded from its folder, gives what base and adapter give together.

## Why
Merged twice, merged into weights of 4 bits that round the adapter away, cast, a head
that is tied again or a configuration that was not kept: what is served is another
model.

## When it does not apply
Models without an adapter that can be merged; without ``merged=``, those of 4 or 8 bits,
which are merged into a base of 16 bits for deployment.

## What to try
Load the base in 16 bits, merge into that once, save, and hold the result against the
live model: ``ftlab.roundtrip(..., merged="folder")``.

## References
- peft, "Model merging"
"""

from typing import Any

from ftlab.executions.pairs import copied
from ftlab.executions.side import NotApplicableError
from ftlab.executions.stations import whole_from
from ftlab.experiments.deployment.rounded import rounded
from ftlab.experiments.deployment.station import Station
from ftlab.experiments.deployment.trip import Trip
from ftlab.records.outcome import Outcome


class MergedFiles(Station):
    """The live model, and the merged one from its files."""

    code = "RTP003"
    name = "merged-files"
    relation = "merged, saved and loaded again, the model is the same"
    cause = "Merging, saving or loading made other weights of base and adapter."
    fix = "Merge once, into a base of 16 or 32 bits, and save that."

    def run(self, trip: Trip) -> Outcome:
        """Merge a copy and save it, if nobody has, and load."""
        try:
            again = arrived(trip)
        except NotApplicableError:
            raise
        except Exception as error:
            if trip.merged is None:  # what was made here says nothing of a deployment
                raise
            return self.cannot_be_loaded(error)
        if trip.live.few_bits():
            return rounded(self, trip, again)
        return self.against(trip, again, rewritten=True)


def arrived(trip: Trip) -> Any:
    """Load the merged model as a stranger would."""
    folder = trip.merged
    if folder is None:
        folder = trip.room / "merged"
        merged_copy(trip).save_pretrained(folder)
    return whole_from(folder, trip.model)


def merged_copy(trip: Trip) -> Any:
    """Merge the adapter into a copy.

    Raises
    ------
    NotApplicableError
        There is none that could be merged, or its weights have few bits.
    """
    if not hasattr(trip.model, "merge_and_unload"):
        msg = f"{type(trip.model).__name__} has no adapter to merge"
        raise NotApplicableError(msg)
    if trip.live.few_bits():
        msg = (
            "weights of 4 or 8 bits round an adapter that is merged into them: merge "
            "into the base in 16 bits, and pass its folder as merged="
        )
        raise NotApplicableError(msg)
    if hasattr(trip.model.get_base_model(), "merge_and_unload"):
        msg = "it has an adapter within an adapter: merge the first before"
        raise NotApplicableError(msg)
    try:
        return copied(trip.model).merge_and_unload()
    except NotImplementedError as error:
        msg = f"peft cannot merge it: {error}"
        raise NotApplicableError(msg) from error
