"""EXP014, saved-model: saved and loaded again, it is the same.

## What must hold
The model, saved as for deployment and loaded again (an adapter onto its base), gives
the same logits.

## Why
Embeddings that were resized, a head that was trained beside the adapter, a scaling
option that the config does not hold, or a change to the base's weights is not in the
file, and nobody notices before deployment.

## When it does not apply
Models without ``save_pretrained``.

## What to try
``modules_to_save=[...]`` for what is trained beside the adapter,
``save_embedding_layers=True`` after new tokens.

## References
- peft, "Checkpoint format"
"""

import tempfile
from typing import Any

from ftlab.executions.pairs import Pair, evaluating
from ftlab.executions.side import NotApplicableError
from ftlab.executions.stations import loaded_again
from ftlab.experiments.experiment import Experiment
from ftlab.experiments.live import Live
from ftlab.records.outcome import Outcome


class SavedAdapter(Experiment):
    """The live model, and what its files hold."""

    code = "EXP014"
    name = "saved-model"
    relation = "saved and loaded again, the model gives the same"
    cause = "Something that was trained, or set, is not in the files."
    fix = (
        "List what is trained beside the adapter in modules_to_save, and save resized "
        "embeddings (save_embedding_layers=True)."
    )

    def run(self, live: Live) -> Outcome:
        """Save into a temporary folder, and load from it."""
        if not hasattr(live.model, "save_pretrained"):
            msg = f"{type(live.model).__name__} has no save_pretrained()"
            raise NotApplicableError(msg)
        with tempfile.TemporaryDirectory() as folder:
            again = loaded_again(live.model, folder)

        def quiet(model: Any) -> Any:
            return lambda: evaluating(model)

        a, b = (
            live.side(model=model, settings=quiet(model))
            for model in (live.model, again)
        )
        names = ("the live model", "the loaded one")
        return self.compared(Pair(a, b, names, None, backward=False))
