"""`ftlab.roundtrip`: follows a model out of the door."""

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ftlab.executions.side import Side, undisturbed
from ftlab.executions.stations import innermost
from ftlab.experiments.deployment.trip import Prompt, Trip, ids_of
from ftlab.experiments.registry import all_stations, named
from ftlab.records.errors import BadValueError
from ftlab.rules.words import an
from ftlab.session.given_models import model_of
from ftlab.session.trials import all_tried
from ftlab.views.executions.roundtrip import RoundtripView


def roundtrip(
    model: Any,
    tokenizer: Any,
    prompts: str | Sequence[str | Sequence[Mapping[str, Any]]],
    *,
    saved: str | Path | None = None,
    base: str | Path | None = None,
    merged: str | Path | None = None,
    exported: str | Path | None = None,
    served: str | None = None,
    served_name: str | None = None,
    bits: int | None = None,
    tokens: int = 16,
    only: str | Iterable[str] | None = None,
) -> RoundtripView:
    """Hold what is deployed against the model in hand, station by station.

    The model is saved and loaded onto a fresh base, merged, rounded to 4 bits, exported
    and served: at each station tokens, weights, logits, greedy answers and their ends
    are compared, and the first that differs is named. Stations for which no folder is
    passed are made in a temporary one. The live model stays as it was.

    Parameters
    ----------
    model, tokenizer
        The live ones, as training left them.
    prompts
        Texts, or conversations (lists of ``{"role": ..., "content": ...}``), that end
        where an answer begins. Some of those that training has seen tell the most.
    saved, merged
        Folders that were made for deployment: the adapter or model as saved, and the
        merged model.
    base
        Folder of the base onto which the adapter is loaded there; by default the one
        that the live base was loaded from, or the live base itself.
    exported
        Folder of a model of CTranslate2.
    served
        Address of a server of OpenAI's protocol (vLLM, llama.cpp, ``transformers
        serve``): ``"http://127.0.0.1:8000/v1"``. Nothing else is ever connected to.
    served_name
        What the model is called there; by default the first that the server lists.
    bits
        4 or 8 where the exported or served weights have so many.
    tokens
        How many each answer has at most.
    only
        Codes or names of stations: ``["saved-files", "served"]``.

    Returns
    -------
    RoundtripView
        ``ok``, ``first``, the station at which the model first differs, ``findings``,
        and each station's outcome.

    Raises
    ------
    BadValueError
        Something else was passed, or nobody answers at ``served``.

    Examples
    --------
    >>> import ftlab
    >>> from ftlab.faults.builders.chats import sized, tokenizer
    >>> words = tokenizer()
    >>> trip = ftlab.roundtrip(sized(words), words, "the year of a river", tokens=2)
    >>> trip["saved-files"].state, trip.ok
    ('holds', True)
    """
    live = model_of(model, "model", "roundtrip(model, tokenizer, prompts)")
    if not hasattr(live, "get_input_embeddings"):
        msg = (
            f"model is {an(type(live).__name__)}; roundtrip() follows language models "
            "of transformers, with or without PEFT."
        )
        raise BadValueError(msg)
    asked = _prompts(prompts, tokenizer)
    if tokens < 1:
        msg = f"tokens={tokens}; it must be at least 1."
        raise BadValueError(msg)
    if bits not in (None, 4, 8):
        msg = f"bits={bits}; allowed are 4, 8 and None, for 16 or 32."
        raise BadValueError(msg)
    _checked_address(served)
    stations = named(all_stations(), only, "station")
    name = type(innermost(live)).__name__
    folders = {"saved": saved, "base": base, "merged": merged, "exported": exported}
    with tempfile.TemporaryDirectory() as room:
        trip = Trip(
            live,
            tokenizer,
            asked,
            tokens,
            Path(room),
            **{name: _folder(name, given) for name, given in folders.items()},
            served=served,
            served_name=served_name,
            bits=bits,
        )
        with undisturbed(Side(trip.model, {}, lambda: None)):
            doing = ("travelling", "stations")
            outcomes = all_tried(stations, trip, doing=doing)
        return RoundtripView(outcomes, title=f"Round trip of {name}")


def _prompts(given: Any, tokenizer: Any) -> tuple[Prompt, ...]:
    if not callable(tokenizer) or not hasattr(tokenizer, "apply_chat_template"):
        msg = (
            f"tokenizer is {an(type(tokenizer).__name__)}; pass the one of the "
            "training: roundtrip(model, tokenizer, prompts)."
        )
        raise BadValueError(msg)
    several = [given] if isinstance(given, str) or _is_messages(given) else list(given)
    if not several:
        msg = "prompts is empty; pass at least one text or conversation."
        raise BadValueError(msg)
    for each in several:
        if not isinstance(each, str) and not _is_messages(each):
            msg = (
                f"prompts has {an(type(each).__name__)}; each must be a text, or a "
                'list of messages such as [{"role": "user", "content": "Hi"}].'
            )
            raise BadValueError(msg)
    try:
        made = tuple(Prompt(each, tuple(ids_of(tokenizer, each))) for each in several)
    except ValueError as error:  # no chat template
        msg = f"the tokenizer cannot render a conversation: {error}"
        raise BadValueError(msg) from error
    empty = next((each.given for each in made if not each.ids), None)
    if empty is not None:
        msg = f"the prompt {empty!r} has no tokens; a model needs at least one."
        raise BadValueError(msg)
    return made


def _is_messages(given: Any) -> bool:
    return (
        isinstance(given, Sequence)
        and not isinstance(given, str)
        and len(given) > 0
        and all(isinstance(m, Mapping) and "content" in m for m in given)
    )


def _folder(name: str, given: str | Path | None) -> Path | None:
    if given is None:
        return None
    folder = Path(given)
    if not folder.is_dir():
        msg = f"{name}={str(given)!r} is no folder; pass the one that was deployed."
        raise BadValueError(msg)
    return folder


def _checked_address(served: str | None) -> None:
    if served is not None and not served.startswith(("http://", "https://")):
        msg = f"served={served!r}; pass an address: http://127.0.0.1:8000/v1."
        raise BadValueError(msg)
