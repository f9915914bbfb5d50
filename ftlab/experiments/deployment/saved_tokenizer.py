"""RTP001, saved-tokenizer: the tokenizer that is loaded there makes the same tokens.

## What must hold
The tokenizer of the folder turns every prompt into the tokens that the live one does,
through its chat template too, and calls the same tokens its end, beginning and padding.

## Why
A template that was edited, a tokenizer of another revision or another token for the end
of an answer changes what the model reads, and nothing raises.

## When it does not apply
Folders without a tokenizer: the one of the base is used then.

## What to try
Save the tokenizer that training used into the folder that is deployed:
``tokenizer.save_pretrained(folder)``. `ftlab.tokenizer_diff` shows all that differs.

## References
- transformers, "Chat templates"
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ftlab.executions.side import NotApplicableError
from ftlab.experiments.deployment.station import Station
from ftlab.experiments.deployment.trip import Trip, ids_of
from ftlab.records.finding import Place
from ftlab.records.outcome import Outcome


class SavedTokenizer(Station):
    """The live tokenizer, and the one in the folder."""

    code = "RTP001"
    name = "saved-tokenizer"
    relation = "the tokenizer in the folder makes the same tokens"
    cause = "The tokenizer that is deployed is not the one of the training."
    fix = "Save the one of the training: tokenizer.save_pretrained(folder)."

    def run(self, trip: Trip) -> Outcome:
        """Load it, and encode every prompt with both."""
        folder = _folder(trip)
        if folder is None:
            trip.tokenizer.save_pretrained(trip.room / "tokenizer")
            folder = trip.room / "tokenizer"
        again = loaded(folder)
        for prompt in trip.prompts:
            try:
                theirs = ids_of(again, prompt.given)
            except ValueError as error:  # no chat template
                return self._broken(str(error).split(".")[0])
            at = first_other(prompt.ids, theirs)
            if at >= 0:
                mine = piece(trip.tokenizer, prompt.ids, at)
                other = piece(again, theirs, at)
                says = (
                    f"token {at} of {prompt.words} is {other} there, "
                    f"{mine} by the live tokenizer"
                )
                return self._broken(says + _template(trip.tokenizer, again))
        unlike = _unlike(trip.tokenizer, again)
        if unlike:
            return self._broken(unlike)
        many = len(trip.prompts)
        return self.outcome(
            "holds", f"the same tokens of {many} prompt{'s' * (many != 1)}"
        )

    def _broken(self, says: str) -> Outcome:
        return self.outcome("broken", says, places=(Place("object", "the tokenizer"),))


def _folder(trip: Trip) -> Path | None:
    """Return the folder whose tokenizer is deployed, ``None`` if none was made."""
    made = [folder for folder in (trip.merged, trip.saved) if folder is not None]
    having = [f for f in made if (f / "tokenizer_config.json").is_file()]
    if having:
        return having[0]
    if trip.base is not None and (trip.base / "tokenizer_config.json").is_file():
        return trip.base
    if made:
        msg = f"{made[0].name} holds no tokenizer"
        raise NotApplicableError(msg)
    return None


def loaded(folder: Path) -> Any:
    """Load a tokenizer."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder)


def first_other(mine: tuple[int, ...], theirs: list[int]) -> int:
    """Return the first place with another token, -1 if there is none."""
    for at in range(max(len(mine), len(theirs))):
        if mine[at : at + 1] != tuple(theirs[at : at + 1]):
            return at
    return -1


def piece(tokenizer: Any, ids: Sequence[int], at: int) -> str:
    """Write a token and its id."""
    if at >= len(ids):
        return "no more"
    return f"{tokenizer.convert_ids_to_tokens(int(ids[at]))!r} ({ids[at]})"


def _unlike(mine: Any, theirs: Any) -> str:
    """Say what is another where the prompts do not show it."""
    for each in ("eos_token", "bos_token", "pad_token"):
        one, other = (getattr(tokenizer, each, None) for tokenizer in (mine, theirs))
        if one != other:
            return f"its {each} is {other!r}, not {one!r}"
    if len(mine) != len(theirs):
        return f"it has {len(theirs)} tokens, not {len(mine)}"
    return _template(mine, theirs).removeprefix("; ")


def _template(mine: Any, theirs: Any) -> str:
    one, other = mine.chat_template, theirs.chat_template
    if one == other:
        return ""
    return f"; {'no' if not other else 'another'} chat template"
