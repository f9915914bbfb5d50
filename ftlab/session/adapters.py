"""`ftlab.adapters`: what a model's adapters are and do."""

from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any

from ftlab.executions.pairs import is_merged
from ftlab.laboratory.anatomy import anatomy
from ftlab.laboratory.combining import combined
from ftlab.laboratory.held import held_by
from ftlab.laboratory.preparation import preparation
from ftlab.laboratory.quantisation import quantised_layers
from ftlab.laboratory.truncation import truncated
from ftlab.records.errors import BadValueError
from ftlab.records.quantisation import QuantisedLayer
from ftlab.session.given_models import batch_of, model_of, on_device
from ftlab.views.adapters.anatomy import AdapterView
from ftlab.views.adapters.combination import CombinationView
from ftlab.views.adapters.quantisation import QuantisationView
from ftlab.views.adapters.ranks import RanksView


def adapters(
    model: Any,
    batch: Any = None,
    *,
    original: Any = None,
    ranks: Any = (),
    directions: int = 0,
    combine: Any = None,
    types: Any = (),
) -> AdapterView:
    """Show what a model's adapters are, where they are, and what they change.

    Every method of PEFT's is read in the same way: which parameters it has in which
    layer, and what the layer returns with it and without it on the same input. Of LoRA
    the singular values of scaling x B A are shown too; the product is never formed.
    Bottleneck adapters, of AdapterHub's library or written by hand, are found by their
    structure. Where AdapterFusion or X-LoRA weighs several adapters, their weights are
    heard on the batch.

    Parameters
    ----------
    model
        A model with adapters, or a trainer that has one.
    batch
        Keyword arguments of the model, such as
        ``next(iter(trainer.get_train_dataloader()))``: the effects are measured on it,
        with two forwards in evaluation mode, and of a base in few bits the gradient,
        with one backward. Nothing is changed by that. Without a batch they are not
        measured.
    original
        Of a base in few bits: the folder of the base as it was, or the model, with
        which the quantised weights are compared.
    ranks
        Ranks to which a LoRA is cut on trial, its largest directions left, such as
        ``(0, 1, 2, 4)``: loss and time of a forward of the batch, which should be held
        out and have labels.
    directions
        In how many layers, evenly from first to last, to count the directions that the
        base has not ("intruder dimensions"). Each layer takes a decomposition of the
        base's weight: seconds for 2048 x 2048 on one core.
    combine
        Weights by LoRA adapter, ``{"a": 0.7, "b": 0.3}``: `add_weighted_adapter` is
        tried in all its ways, and what each makes of them held against the sum of the
        adapters' updates, and the next tokens of a batch against those with that sum.
        Types that prune keep a half; what DARE drops is drawn, once.
    types
        Some of PEFT's combination types, in the place of all. Those with ``svd`` take
        many seconds for each layer of a large model.

    Returns
    -------
    AdapterView
        ``anatomy`` holds the numbers; ``table()`` has a row for each adapter in each
        layer. `AdapterView.quantisation` shows a base in few bits,
        `AdapterView.gates` weights of several adapters, `AdapterView.ranks` what
        smaller ranks would do, `AdapterView.combinations` what ways to combine adapters
        lose.

    Raises
    ------
    BadValueError
        Something else was passed, or the model has no adapter and is not quantised.

    Examples
    --------
    >>> import ftlab
    >>> from ftlab.faults.builders.tiny import batches, lora
    >>> found = ftlab.adapters(lora(), batches()[0])
    >>> found.anatomy.layers[0].place, found.anatomy.layers[0].effect
    ('layers.0.attention.q', 0.0)
    """
    chosen = model_of(model, "model", "adapters(model, batch)")
    given = None if batch is None else on_device(batch_of(batch), chosen)
    count = _count(directions)
    try:
        found = anatomy(chosen, given, count)
    except (TypeError, ValueError, RuntimeError, IndexError) as error:
        if given is None or isinstance(error, BadValueError):
            raise
        said = f"{type(error).__name__}: {str(error).splitlines()[0][:160]}"
        msg = (
            f"{type(chosen).__name__} cannot be called with this batch ({said}); pass "
            "what its forward takes: adapters(model, next(iter(loader)))."
        )
        raise BadValueError(msg) from error
    bits = _in_few_bits(chosen, original)
    if not found.layers and not bits:
        msg = (
            f"{type(chosen).__name__} has no adapter; wrap it in "
            "peft.get_peft_model(model, LoraConfig(...)), or pass the model that is."
        )
        raise BadValueError(msg)
    if not isinstance(ranks, Iterable) or isinstance(ranks, str):
        msg = f"ranks={ranks!r}: pass several, such as ranks=(1, 2, 4)."
        raise BadValueError(msg)
    asked = list(ranks)
    if asked and given is None:
        msg = "ranks= needs a batch: adapters(model, batch, ranks=(0, 1, 2, 4))."
        raise BadValueError(msg)
    return AdapterView(
        found,
        QuantisationView(bits, preparation(chosen, given)) if bits else None,
        RanksView(truncated(chosen, given, asked)) if asked and given else None,
        None
        if combine is None
        else CombinationView(combined(chosen, given, combine, types)),
    )


def _count(directions: Any) -> int:
    whole = isinstance(directions, int) and not isinstance(directions, bool)
    if whole and directions >= 0:
        return int(directions)
    msg = f"directions={directions!r}: it is a number of layers, such as directions=8."
    raise BadValueError(msg)


def _in_few_bits(model: Any, original: Any) -> tuple[QuantisedLayer, ...]:
    """Measure a base in few bits, beside what it was where that is given."""
    if original is None:
        return tuple(quantised_layers(model))
    if is_merged(model):
        msg = "an adapter is merged; call unmerge_adapter() before original= is given."
        raise BadValueError(msg)
    with ExitStack() as stack:
        held = held_by(original, stack)
        found = tuple(
            quantised_layers(model, lambda n: held.get(n) if n in held.shapes else None)
        )
    if not any(each.relative >= 0 for each in found):
        what = "the model has no layer in few bits"
        if found:
            what = f"original= has no {found[0].name}.weight of that shape"
        msg = f"{what}; pass the base as it was before it was quantised."
        raise BadValueError(msg)
    return found
