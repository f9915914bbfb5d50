"""What a loss is given: scores or probabilities, of which scale, for which token.

Who calls whom: the batch of a due step (`LossInputs.on_batch`) notes the tokens that go
in. When its backward is about to begin (`LossInputs._look`), each cross entropy near
the loss still holds the log-probabilities and the labels that it compares; a sample of
them is measured on the device, and `LossInputs.on_gradients` hands over.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.graph.saved_values import saved
from ftlab.probes.hooked import HookedProbe
from ftlab.probes.inventory import spots_of
from ftlab.probes.loss.label_counts import common_label, weightless
from ftlab.probes.loss.logits import ELEMENTS, POSITIONS, spread_over, unravelled
from ftlab.probes.loss.loss_terms import Term, terms_of
from ftlab.probes.probe import Moment, Reading
from ftlab.probes.schedule import every
from ftlab.probes.stepping.backward_ear import hear_backward
from ftlab.probes.subject import Subject
from ftlab.probes.taps.forward import innermost
from ftlab.probes.tokens.batch import batch_fields
from ftlab.records.attributes import attribute_of
from ftlab.records.handle import Handle
from ftlab.records.step import Block, Column

MOST = 6
"""Terms of a loss that are looked at."""

OFFSETS = (-1, 0, 1, 2)
"""How far behind a position the token may lie that its logits are to predict."""


class LossInputs(HookedProbe):
    """Measure what the terms of a loss were given, and against what they hold it."""

    table: ClassVar[str] = "losses"
    columns: ClassVar[Sequence[Column]] = (
        Column("loss_entropy", "nats", "Entropy of what the loss sees, of a sample."),
        Column("token_loss", "1", "Mean loss of the same sample."),
        Column("plain_loss", "1", "The same without the constant on the logits."),
        Column("log_total", "1", "Magnitude of the log of a row's probabilities' sum."),
        Column("input_loss", "1", "The same with the input's next tokens as labels."),
        Column("label_before", "1", "Share of labels that are the token before."),
        Column("label_same", "1", "Share of labels that are the token itself."),
        Column("label_next", "1", "Share of labels that are the next token."),
        Column("label_after", "1", "Share of labels that are the one after the next."),
        Column("weightless", "1", "Share of labels whose class has a weight of 0."),
        Column("off_unit", "1", "Of the vectors whose products are scores, from 1."),
        Column("common_label", "1", "The label that counts most often."),
        Column("common_share", "1", "Its share of the labels that count."),
        Column("common_read", "1", "Share of the tokens read that are this one."),
        Column("off_total", "1", "Of a divergence's probabilities' sums, from 1."),
    )

    def __init__(self, interval: int = 16) -> None:
        super().__init__()
        self.schedule = every(interval)
        self._step, self._thread = -1, 0
        self._tokens: torch.Tensor | None = None
        self._found: list[tuple[Term, torch.Tensor]] = []
        self._open = False

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Listen for backward."""
        return [hear_backward(self._look, self._fail)]

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Note the tokens of the first micro-batch."""
        if self._step == moment.step:
            return ()
        self._step, self._found = moment.step, []
        self._thread = threading.get_ident()
        read = "decoder_input_ids" if _has_encoder(moment) else "input_ids"
        tokens = batch_fields(inputs).get(read)
        self._tokens = tokens if tokens is not None and tokens.dim() == 2 else None
        self._open = True
        return ()

    def _look(self, losses: Sequence[Any]) -> None:
        if not self._open or self._thread != threading.get_ident():
            return
        self._open = False
        for term in terms_of(losses)[:MOST]:
            values = measured(term, self._tokens)
            term.node = term.scores = None  # they hold all that the graph holds
            self._found.append((term, values))
        self._tokens = None

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Hand over what the first micro-batch showed; the last reading counts."""
        self._raise_failure()
        if self._step != moment.step or not self._found:
            return []
        rows = [_row(moment, term, n) for n, (term, _) in enumerate(self._found)]
        ids = np.array(rows, np.int32)
        devices = [values.device for _, values in self._found]
        device = max(devices, key=lambda each: each.type != "cpu")
        flat = torch.cat([values.to(device) for _, values in self._found])
        names = [column.name for column in self.columns]
        step = moment.step

        def finish(values: NDArray[np.float32]) -> Iterable[Block]:
            columns = values.reshape(len(ids), -1).T
            yield Block("losses", step, ids, dict(zip(names, columns, strict=True)))

        return [Reading(flat, finish)]

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Let go of what was measured."""
        self._tokens, self._found, self._open = None, [], False
        return {}


def measured(term: Term, tokens: torch.Tensor | None) -> torch.Tensor:
    """Give a term's columns, on the device; NaN where one cannot be told."""
    if term.op == "cross_entropy":
        return _entropy_of(term, tokens)
    wanted = saved(term.node, "self") if term.op == "kl_div" else None
    if wanted is None:
        return torch.full((len(LossInputs.columns),), torch.nan, device="cpu")
    rest = torch.full((len(LossInputs.columns) - 1,), torch.nan, device=wanted.device)
    return torch.cat([rest, _off_total(wanted).reshape(1)])


def _entropy_of(term: Term, tokens: torch.Tensor | None) -> torch.Tensor:
    logs, labels = saved(term.node, "self"), saved(term.node, "target")
    if logs is None or labels is None:
        return torch.full((len(LossInputs.columns),), torch.nan, device="cpu")
    term.classes = logs.shape[1] if logs.dim() > 1 else 1
    ignored = term.node._saved_ignore_index  # noqa: SLF001  torch documents such names
    counted = labels != (ignored - 2**64 if ignored >= 2**63 else ignored)
    around = None if tokens is None else _around(term, labels, tokens)
    parts = [
        _values(term, logs, labels, counted, around),
        _shares(around, labels, counted),
        weightless(saved(term.node, "weight"), labels, counted).reshape(1),
        _off_unit(term, logs).reshape(1),
        common_label(labels, counted, term.classes, tokens),
        logs.new_full((1,), torch.nan, dtype=torch.float32),
    ]
    return torch.cat(parts)


def _off_unit(term: Term, logs: torch.Tensor) -> torch.Tensor:
    """Give how far the vectors whose products are made smaller are from length 1."""
    small = term.scores is not None and term.factor < 1
    pair = [saved(term.scores, key) if small else None for key in ("self", "mat2")]
    off = logs.new_zeros((), dtype=torch.float32)
    for vectors, dimension in zip(pair, (-1, -2), strict=True):
        if vectors is None:
            return torch.full_like(off, torch.nan)
        lengths = torch.linalg.vector_norm(vectors, dim=dimension, dtype=torch.float32)
        off = torch.maximum(off, (lengths - 1).abs().max().to(off.device))
    return off


def _off_total(wanted: torch.Tensor) -> torch.Tensor:
    """Give how far sums over the classes are from 1, whichever dimension has them."""
    most = max(1, ELEMENTS * len(wanted) // max(1, wanted.numel()))
    dimensions = range(1, wanted.dim()) if wanted.dim() > 1 else (0,)
    some = wanted if wanted.dim() == 1 else wanted[:most]
    off = [(some.float().sum(at) - 1).abs().max() for at in dimensions]
    return torch.stack(off).min()


def _values(
    term: Term,
    logs: torch.Tensor,
    labels: torch.Tensor,
    counted: torch.Tensor,
    around: torch.Tensor | None,
) -> torch.Tensor:
    """Give entropy, loss, loss without the factor, the rows' sums, the inputs' loss."""
    classes, lead = logs.shape[1], labels.shape
    most = max(1, min(POSITIONS, ELEMENTS // classes, labels.numel()))
    places, some = spread_over(counted.flatten(), most)
    index = unravelled(places, lead)
    rows = logs.movedim(1, -1)[index].float()
    wanted = labels[index].clamp(0, classes - 1).unsqueeze(1)
    plain = (rows / term.factor).log_softmax(1)
    values = torch.stack(
        [
            torch.special.entr(rows.exp()).sum(1).mean(),
            -rows.gather(1, wanted).mean(),
            -plain.gather(1, wanted).mean(),
            rows.logsumexp(1).abs().mean(),
            rows.new_full((), torch.nan)  # ``new_tensor`` would wait for the device
            if around is None
            else _loss_of(rows, around[OFFSETS.index(1)].flatten()[places]),
        ]
    )
    return torch.where(some, values, torch.nan)


def _loss_of(rows: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """Give the mean loss of ``tokens``, of those that there are."""
    known = (tokens >= 0) & (tokens < rows.shape[1])
    index = tokens.clamp(0, rows.shape[1] - 1).unsqueeze(1)
    losses = -rows.gather(1, index).squeeze(1)
    return torch.where(known, losses, 0.0).sum() / known.sum()


def _around(
    term: Term, labels: torch.Tensor, tokens: torch.Tensor
) -> torch.Tensor | None:
    """Give the tokens at each offset from each label, (4, *labels); -1 where none is.

    ``None`` where the rows of the labels are not those of the tokens.
    """
    samples, length = tokens.shape
    many = labels.numel() // samples if samples else 0
    if term.chosen or not many or many * samples != labels.numel():
        return None
    if (term.length or many) != length or term.start + many > length:
        return None
    padded = torch.nn.functional.pad(
        tokens.to(labels.device), (-OFFSETS[0], OFFSETS[-1]), value=-1
    )
    begins = [term.start + offset - OFFSETS[0] for offset in OFFSETS]
    found = [padded[:, begin : begin + many] for begin in begins]
    return torch.stack(found).reshape(len(OFFSETS), *labels.shape)


def _shares(
    around: torch.Tensor | None, labels: torch.Tensor, counted: torch.Tensor
) -> torch.Tensor:
    """Give the shares of labels that are the token before, itself, the next..."""
    if around is None:
        return torch.full((len(OFFSETS),), torch.nan, device=labels.device)
    count = (counted & (around >= 0)).flatten(1)
    same = (around == labels).flatten(1) & count
    return (same.sum(1) / count.sum(1)).float()


def _row(moment: Moment, term: Term, number: int) -> int:
    model = innermost(moment.subject.model)
    meta: dict[str, str | int | float | bool] = {
        "loss": term.op,
        "normalised": term.normalised,
        "of": term.of,
        "factor": term.factor,
        "factor_op": term.factor_op,
        "causal": _generates(model),
        "head": _head_path(model, term),
        "classes": term.classes,
        "smoothing": term.smoothing,
    }
    return moment.name("losses", f"{term.op} {number}", "module", meta)


def _generates(model: torch.nn.Module) -> bool:
    """Tell whether a model predicts the next token, as far as it says so itself."""
    can = attribute_of(model, "can_generate")
    try:
        return callable(can) and bool(can())
    except Exception:  # noqa: BLE001  a model of one's own may mean something else
        return False


def _has_encoder(moment: Moment) -> bool:
    config = attribute_of(innermost(moment.subject.model), "config", None)
    return bool(getattr(config, "is_encoder_decoder", False))


def _head_path(model: torch.nn.Module, term: Term) -> str:
    """Name the layer whose weight made the scores; a cast copy is known by its shape.

    Scores that two outputs of the model make together have none.
    """
    find = attribute_of(model, "get_output_embeddings")
    try:
        last = find() if callable(find) else None
    except Exception:  # noqa: BLE001  not all models have one
        last = None
    for spot in spots_of(model) if term.weight else ():
        module = spot.module()
        if module is not last and "weight" not in vars(module).get("_parameters", ()):
            continue
        weight = attribute_of(module, "weight")
        if not isinstance(weight, torch.Tensor):
            continue
        cast = module is last and term.wide == tuple(weight.shape)[::-1]
        if weight.data_ptr() == term.weight or cast:
            return spot.path
    return ""
