"""Which way a metric of an evaluation is better, as told by its name or its values.

A name is read only where everything in it is known: ``eval_validation_wer`` ends in a
metric, ``wer_reduction`` and ``neg_wer`` do not.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

SAME = 1e-3
"""Relative distance up to which a value is computed from a loss.

Losses of batches of different sizes are averaged in more than one way; with exp(loss)
for perplexity 1e-4 of a loss is 1e-4 of the metric.
"""

FEWEST = 3
"""Different losses from which on a relation holds by no chance."""

SPREAD = 10 * SAME
"""Share of the greatest loss that losses must be apart: a flat one tells nothing."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LOWER = _words(
    "loss logloss perplexity ppl nll cross_entropy wer cer ter mer wil mae mse rmse "
    "mape smape msle rmsle mean_squared_error mean_absolute_error "
    "root_mean_squared_error mean_absolute_percentage_error error_rate eer brier_score "
    "bits_per_byte bits_per_character bpb bpc edit_distance hter ece"
)

_HIGHER = _words(
    "accuracy acc f1 precision recall bleu sacrebleu rouge rouge1 rouge2 rougel "
    "rougelsum meteor chrf mcc matthews_correlation auc roc_auc auroc auprc pearson "
    "pearsonr spearman spearmanr exact_match ndcg mrr iou miou kappa win_rate"
)

_QUALIFIERS = _words("macro micro weighted mean avg average overall total")
"""Words behind a metric's name after which it is the same metric."""

_TURNED = _words("neg negative minus inverse inv one 1 delta change diff")
"""Words with which a metric may be anything."""

_LONGEST = 4
"""Words of the longest name above."""


@dataclass(frozen=True, slots=True)
class Direction:
    """Which way is better, and what tells so.

    Attributes
    ----------
    greater
        Whether greater values are better.
    told_by
        ``"name"``, or the relation to the loss: ``"exp(eval_loss)"``.
    """

    greater: bool
    told_by: str


def by_name(metric: str) -> Direction | None:
    """Read a metric's direction from its name; ``None`` where it is not known."""
    words = re.findall(r"[a-z0-9]+", metric.lower())
    while words and words[-1] in _QUALIFIERS:
        words.pop()
    if _TURNED.intersection(words):
        return None
    ends = {"_".join(words[-count:]) for count in range(1, _LONGEST + 1)}
    if _LOWER & ends:
        return Direction(greater=False, told_by="name")
    return Direction(greater=True, told_by="name") if _HIGHER & ends else None


def by_loss(values: Sequence[float], losses: Sequence[float]) -> Direction | None:
    """Tell whether a metric is computed from the loss of the same evaluations.

    Falling with the loss alone tells nothing: a score falls while a loss rises, or with
    it, in healthy runs as well.
    """
    if len(set(losses)) < FEWEST or not all(map(math.isfinite, losses)):
        return None
    if max(losses) - min(losses) < SPREAD * max(map(abs, losses)):
        return None
    for told_by, (greater, relation) in _RELATIONS.items():
        wanted = [relation(loss) for loss in losses]
        if all(_close(*pair) for pair in zip(values, wanted, strict=True)):
            return Direction(greater, told_by)
    return None


def contradicts(direction: Direction, metric: str, values: Sequence[float]) -> bool:
    """Tell whether values are none that a metric of this name takes: turned round."""
    if direction.told_by != "name" or not values:
        return False
    perplexity = metric.lower().endswith(("perplexity", "ppl"))
    least = 1.0 if perplexity else 0.0
    return min(values) < least


def _close(one: float, other: float) -> bool:
    return math.isfinite(one) and math.isclose(one, other, rel_tol=SAME)


def _exp(loss: float) -> float:
    try:
        return math.exp(loss)
    except OverflowError:
        return math.inf


_Relation = tuple[bool, Callable[[float], float]]

_RELATIONS: dict[str, _Relation] = {
    "eval_loss": (False, lambda loss: loss),
    "exp(eval_loss)": (False, _exp),
    "eval_loss / log(2)": (False, lambda loss: loss / math.log(2)),
    "-eval_loss": (True, lambda loss: -loss),
    "exp(-eval_loss)": (True, lambda loss: _exp(-loss)),
}
