"""Directions of an adapted weight that its base does not have.

A singular vector of W + B A, among the ten largest, is an intruder when no singular
vector of W is like it: the cosine of none is above one half. Shuttleworth et al. 2024,
"LoRA vs Full Fine-tuning: An Illusion of Equivalence" (arXiv 2410.21228), who find that
forgetting lies in them; ten and one half are what PEFT 0.21 takes to take them out
(`peft.tuners.lora.intruders`).
"""

from collections.abc import Sequence

import torch

from ftlab.probes.adapter.lora_pairs import LoraPair
from ftlab.probes.merging.merge_loss import is_turned
from ftlab.probes.tensors.whole_weight import whole_weight

TOP = 10
LIKE = 0.5
WHOLE = 2048
"""Rows or columns up to which all directions of the base are computed."""
LARGEST = 512
"""Of a larger base, so many of its largest: a direction that is like none of these was
small in it, if it was there at all."""
_ROUNDS = 4


def spread_over(pairs: Sequence[LoraPair], count: int) -> list[LoraPair]:
    """Choose some pairs, evenly from first to last."""
    if count >= len(pairs):
        return list(pairs)
    step = (len(pairs) - 1) / max(count - 1, 1)
    return [pairs[round(step * each)] for each in range(count)]


def intruders(pair: LoraPair) -> int | None:
    """Count the intruders among the largest directions of one layer's output.

    Neither B A nor the sum is put together. A base beyond `WHOLE` is applied to a few
    hundred vectors at a time (Halko et al. 2011, randomised subspace iteration).

    Returns
    -------
    int or None
        ``None`` where the base's weight is not to be had: it is on the meta device, an
        adapter is merged into it, or it is not finite.
    """
    base = base_of(pair)
    if base is None:
        return None
    a, b = _factors(pair)
    theirs = known_directions(base)
    if min(base.shape) <= WHOLE:
        mine = _left(base, a, b)[:, :TOP]
    else:
        mine = _refined(base, torch.cat((theirs, b), 1), TOP, a, b)
    return _strange(theirs, mine)


def counted_again(pair: LoraPair, theirs: torch.Tensor) -> int | None:
    """Count them as `intruders` does, where the base's directions are known.

    The largest directions are iterated from those of base and update: what takes
    seconds is left out.
    """
    base = base_of(pair)
    if base is None:
        return None
    a, b = _factors(pair)
    start = torch.cat((theirs[:, : 2 * TOP], b), 1)
    return _strange(theirs, _refined(base, start, TOP, a, b))


def known_directions(base: torch.Tensor) -> torch.Tensor:
    """Return the directions of a base's output, the largest first, float32."""
    if min(base.shape) <= WHOLE:
        return _left(base)
    start = torch.randn(base.shape[1], LARGEST, generator=_seeded())
    return _refined(base, base @ start, LARGEST)


def base_of(pair: LoraPair) -> torch.Tensor | None:
    """Return the base's weight, outputs first, float32 on the host."""
    if pair.adapter in pair.layer.merged_adapters:
        return None
    weight = whole_weight(pair.base)
    if weight is None or weight.dim() != 2 or pair.a is None or pair.b is None:
        return None
    base = weight.float().cpu()
    if not all(bool(each.isfinite().all()) for each in (base, pair.a, pair.b)):
        return None
    return base.T if is_turned(pair.layer) else base


def _factors(pair: LoraPair) -> tuple[torch.Tensor, torch.Tensor]:
    a, b = (each.float().cpu() for each in (pair.a, pair.b) if each is not None)
    return a, b * pair.scaling


def _strange(theirs: torch.Tensor, mine: torch.Tensor) -> int:
    alike = (theirs.T @ mine).abs().amax(0)
    return int((alike < LIKE).sum())


def _seeded() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def _left(
    base: torch.Tensor, a: torch.Tensor | None = None, b: torch.Tensor | None = None
) -> torch.Tensor:
    """Return the left singular vectors of W, or of W + B A, the largest first.

    From the Gram matrix of the shorter side, to which B A adds products with W.
    """
    wide = base.double()
    none = wide.new_zeros(1, 1)
    down, up = (none if each is None else each.double() for each in (a, b))
    rows, columns = wide.shape
    if rows <= columns:
        gram = wide @ wide.T
        if a is not None:
            cross = wide @ down.T @ up.T
            gram = gram + cross + cross.T + up @ (down @ down.T) @ up.T
        return torch.linalg.eigh(gram).eigenvectors.flip(1).float()
    gram = wide.T @ wide
    if a is not None:
        cross = wide.T @ up @ down
        gram = gram + cross + cross.T + down.T @ (up.T @ up) @ down
    right = torch.linalg.eigh(gram).eigenvectors.flip(1)
    left = wide @ right
    if a is not None:
        left = left + up @ (down @ right)
    return torch.nn.functional.normalize(left, dim=0).float()


def _refined(
    base: torch.Tensor,
    start: torch.Tensor,
    count: int,
    a: torch.Tensor | None = None,
    b: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return the largest left singular vectors within a space that is iterated.

    Both sides begin with the base's, so that what the update leaves alone is the same.
    """
    found = torch.linalg.qr(start).Q
    for _ in range(_ROUNDS):
        back = base.T @ found
        if a is not None and b is not None:
            back = back + a.T @ (b.T @ found)
        right = torch.linalg.qr(back).Q
        found = base @ right
        if a is not None and b is not None:
            found = found + b @ (a @ right)
        found = torch.linalg.qr(found).Q
    back = base.T @ found
    if a is not None and b is not None:
        back = back + a.T @ (b.T @ found)
    left = torch.linalg.svd(back.T, full_matrices=False).U
    return (found @ left)[:, :count]
