"""What an experiment is tried on: the live step of a training."""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from ftlab.executions.listening import heard_modules
from ftlab.executions.pairs import Pair
from ftlab.executions.side import NotApplicableError, Side
from ftlab.executions.stations import innermost
from ftlab.replay.capsules.rng import RngState

FEW_BITS = {"Linear4bit", "Linear8bitLt"}
"""Layers whose kernels round as they like."""


@dataclass(frozen=True, slots=True)
class Live:
    """The objects of a training, and a batch of it.

    Attributes
    ----------
    model
        What is trained, without accelerate's wrapping.
    batch
        Keyword arguments of the model, on its device.
    loss
        What the training takes for the loss of a batch, of the model or of what wraps
        it; ``None`` where its batches are of another form than the model's arguments.
    autocast
        The precision that the training computes in.
    optimizers, tokenizer, trainer
        Those of the training, where it has them.
    """

    model: Any
    batch: Mapping[str, Any]
    loss: Callable[..., torch.Tensor] | None
    autocast: Callable[[], contextlib.AbstractContextManager[Any]] = (
        contextlib.nullcontext
    )
    optimizers: tuple[Any, ...] = ()
    tokenizer: Any = None
    trainer: Any = None

    def side(
        self,
        batch: Mapping[str, Any] | None = None,
        *,
        model: Any = None,
        settings: Callable[[], Any] = contextlib.nullcontext,
    ) -> Side:
        """Return the execution of a batch, in the precision of the training."""
        given = self.batch if batch is None else batch
        called = self.model if model is None else model

        def call() -> Any:
            with self.autocast():
                return called(**given)

        return Side(called, given, call, settings)

    def computed(self) -> torch.Tensor:
        """Return the training's loss of the batch.

        Raises
        ------
        NotApplicableError
            The batch is not the training's own.
        """
        if self.loss is None:
            msg = "the training makes the model's arguments of another batch"
            raise NotApplicableError(msg)
        return self.loss(self.batch)

    def of(self, pair: Pair) -> Pair:
        """Return a pair in the precision of the training."""
        a = self._within(pair.a) if isinstance(pair.a, Side) else pair.a
        return replace(pair, a=a, b=self._within(pair.b))

    def _within(self, side: Side) -> Side:
        def call() -> Any:
            with self.autocast():
                return side.call()

        return replace(side, call=call)

    def few_bits(self) -> set[str]:
        """Name the modules whose weights have 4 or 8 bits, as births do."""
        return {
            name
            for name, module in heard_modules(self.model)
            if type(module).__name__ in FEW_BITS
        }

    def has_encoder(self) -> bool:
        """Say whether the model decodes from an encoder's output."""
        config = getattr(self.model, "config", None)
        return bool(getattr(config, "is_encoder_decoder", False))

    def refuse_encoder(self) -> None:
        """Leave out a model whose labels are not of its own input's tokens.

        Raises
        ------
        NotApplicableError
            It decodes from an encoder's output.
        """
        if self.has_encoder():
            msg = f"the labels of {type(self.model).__name__} are those of a decoder"
            raise NotApplicableError(msg)

    def is_causal(self) -> bool:
        """Say whether the model's class says that it reads from left to right."""
        return type(innermost(self.model)).__name__.endswith(
            ("ForCausalLM", "LMHeadModel")
        )

    def refuse_others(self) -> None:
        """Leave out models whose class says that they do not predict the next token.

        Raises
        ------
        NotApplicableError
            It is another class of transformers.
        """
        self.refuse_encoder()
        name = type(innermost(self.model)).__name__
        if hasattr(self.model, "config") and not self.is_causal():
            msg = f"{name} does not predict the next token"
            raise NotApplicableError(msg)

    def rows(self) -> int:
        """Return how many rows the batch has.

        Raises
        ------
        NotApplicableError
            The batch has no token ids.
        """
        return int(self.ids().shape[0])

    def ids(self) -> torch.Tensor:
        """Return the batch's token ids, shape (rows, positions)."""
        ids = self.batch.get("input_ids")
        if not isinstance(ids, torch.Tensor) or ids.dim() != 2:
            msg = "the batch has no input_ids of shape (rows, positions)"
            raise NotApplicableError(msg)
        return ids

    def logits(self, batch: Mapping[str, Any]) -> torch.Tensor:
        """Return the model's logits of a batch, in evaluation and without gradients."""
        rng = RngState.take()
        try:
            with torch.no_grad(), self.autocast():
                output = self.model(**{k: v for k, v in batch.items() if k != "labels"})
        finally:
            rng.restore()
        logits = getattr(output, "logits", None)
        if not isinstance(logits, torch.Tensor) or logits.dim() != 3:
            msg = f"{type(self.model).__name__} returns no logits by token"
            raise NotApplicableError(msg)
        if logits.shape[:2] != self.ids().shape:
            msg = f"logits are of {tuple(logits.shape[:2])} tokens, not the batch's"
            raise NotApplicableError(msg)
        return logits
