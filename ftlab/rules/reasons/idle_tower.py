"""A part of the model that no batch has run, with adapters in all of its layers.

`target_modules` is a list of endings: what the text model's projections are called,
the picture encoder's often are as well. That no batch is to come that runs it, the run
knows where a Trainer has made all of its steps.
"""

from collections.abc import Sequence

import numpy as np

from ftlab.records.finding import Place
from ftlab.records.name_words import short_name
from ftlab.rules.reading.tensors import text_of
from ftlab.rules.reasons.missing import Missing, Reason
from ftlab.rules.reasons.unreached_call import Call, named, said
from ftlab.rules.words import listed
from ftlab.runlog.run import Run

KIND = "tower-not-called"

ROWS = 16
"""Rows of a whole training from which a part that none of them used is no chance."""


def idle_tower(missing: Missing, calls: Sequence[Call]) -> Reason | None:
    """Tell of adapters on layers of whole parts that were not called, beside others."""
    if not missing.reached or not all(_is_tower(call, missing) for call in calls):
        return None
    parts = listed([said(call) for call in calls], 3)
    ends = {_end(text_of(name, "module")) for name in missing.lost}
    shared = sorted(ends & {_end(text_of(name, "module")) for name in missing.reached})
    why = (
        f" Layers of the trained part are called {listed(shared)} too: target_modules "
        "matches the ends of names."
        if shared
        else ""
    )
    path = short_name(calls[0].name)
    return Reason(
        KIND,
        f"{parts} {'was' if len(calls) == 1 else 'were'} not called, as when no batch "
        f"contains an image or audio; its adapters keep their initial values.{why}",
        f'For text-only data: exclude_modules=r".*{path}.*" or a target_modules with '
        "the path of the other part, as in "
        r'r".*language_model.*\.(q_proj|v_proj)". For data with images: check that '
        "they arrive (pixel_values in a batch).",
        (
            *named(calls),
            Place("config", "target_modules"),
            Place("config", "exclude_modules"),
        ),
    )


def no_more_to_come(run: Run) -> bool:
    """Tell whether a Trainer has made all of its steps, with rows enough."""
    planned = run.facts.training.get("max_steps")
    if not isinstance(planned, int) or not 0 < planned <= run.last_step + 1:
        return False
    return float(np.nansum(run.steps["batch_size"])) >= ROWS


def _is_tower(call: Call, missing: Missing) -> bool:
    """Tell a part outside of all blocks, of which several have adapters alone."""
    if any(part.isdigit() for part in call.name.split(".")):
        return False
    lost = [name for name in missing.lost if call.holds(name.name)]
    blocks = {name.layer for name in lost if _end(name.layer).isdigit()}
    return len(blocks) > 1 and all(text_of(name, "adapter") for name in lost)


def _end(path: str) -> str:
    return path.rpartition(".")[2]
