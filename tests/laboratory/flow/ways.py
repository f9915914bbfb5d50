"""Ways in which a gradient is lost, each with a marked line."""

import inspect
import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.checkpoint import checkpoint

Way = Callable[[torch.Tensor], torch.Tensor]


def _ramp(h: torch.Tensor) -> torch.Tensor:
    """Return numbers of the size of ``h`` that differ: norms of equal ones are 0."""
    return torch.linspace(-1, 1, h.shape[-1]).expand(h.shape)


def detach(h: torch.Tensor) -> torch.Tensor:
    return h.detach() * 1.0  # cut


def data(h: torch.Tensor) -> torch.Tensor:
    return h.data + 0.0  # cut


def detached_in_place(h: torch.Tensor) -> torch.Tensor:
    h = h * 1.0
    h.detach_()  # cut
    return h


def no_grad(h: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():  # cut
        h = h * 2.0
        return h / 2.0


@torch.no_grad()  # cut
def decorated(h: torch.Tensor) -> torch.Tensor:
    return h * 1.0


def set_grad_enabled(h: torch.Tensor) -> torch.Tensor:
    torch.set_grad_enabled(False)  # cut
    h = h * 1.0
    torch.set_grad_enabled(True)
    return h


def inference_mode(h: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        scaled = h * 1.0  # cut
    return scaled.clone()


def numpy(h: torch.Tensor) -> torch.Tensor:
    values = h.detach().numpy()  # cut
    return torch.from_numpy(np.tanh(values))


def python_list(h: torch.Tensor) -> torch.Tensor:
    rows = h.tolist()  # cut
    return torch.tensor(rows)


def python_number(h: torch.Tensor) -> torch.Tensor:
    rows = [[row.mean().item() for row in each] for each in h]  # cut
    return torch.tensor(rows)[..., None].exp() * _ramp(h) ** 2 + _ramp(h)


def torch_tensor(h: torch.Tensor) -> torch.Tensor:
    return torch.tensor(h)  # cut


def new_tensor(h: torch.Tensor) -> torch.Tensor:
    return h.new_tensor(h)  # cut


def new_parameter(h: torch.Tensor) -> torch.Tensor:
    return torch.nn.Parameter(h)  # cut


def detached_leaf(h: torch.Tensor) -> torch.Tensor:
    return h.detach().requires_grad_()  # cut


def integers(h: torch.Tensor) -> torch.Tensor:
    steps = (h * 1024).long()  # cut
    return steps.float() / 1024


def argmax(h: torch.Tensor) -> torch.Tensor:
    best = h.argmax(-1)  # cut
    return torch.nn.functional.one_hot(best, h.shape[-1]).to(h.dtype)


def ranks(h: torch.Tensor) -> torch.Tensor:
    order = h.argsort(-1)  # cut
    return order.to(h.dtype) / h.shape[-1]


def comparison(h: torch.Tensor) -> torch.Tensor:
    return (h > 0).to(h.dtype)  # cut


def sampled(h: torch.Tensor) -> torch.Tensor:
    shares = h.flatten(0, 1).softmax(-1)
    chosen = torch.multinomial(shares, h.shape[-1])  # cut
    return chosen.view(h.shape).to(h.dtype) / h.shape[-1]


def buffer_through_data(h: torch.Tensor) -> torch.Tensor:
    kept = torch.zeros_like(h)
    kept.data.copy_(h)  # cut
    return kept * 1.0


def buffer_without_grad(h: torch.Tensor) -> torch.Tensor:
    kept = torch.zeros_like(h)
    with torch.no_grad():  # cut
        kept[:] = h
    return kept * 1.0


def assigned_data(h: torch.Tensor) -> torch.Tensor:
    kept = torch.zeros_like(h)
    kept.data = h  # cut
    return kept * 1.0


def pickled(h: torch.Tensor) -> torch.Tensor:
    sent = pickle.dumps(h.detach())  # cut
    return pickle.loads(sent)


def saved(h: torch.Tensor) -> torch.Tensor:
    file = io.BytesIO()
    torch.save(h.detach(), file)  # cut
    file.seek(0)
    return torch.load(file)  # noqa: TID251  of our own making


class _Marked(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: torch.Tensor) -> torch.Tensor:
        made = h * 1.0
        ctx.mark_non_differentiable(made)
        return made

    @staticmethod
    def backward(_ctx: object, *_gradient: torch.Tensor) -> None:
        return None


def non_differentiable(h: torch.Tensor) -> torch.Tensor:
    return _Marked.apply(h)  # cut


class _Nothing(torch.autograd.Function):
    @staticmethod
    def forward(_ctx: object, h: torch.Tensor) -> torch.Tensor:
        return h * 1.0

    @staticmethod
    def backward(_ctx: object, _gradient: torch.Tensor) -> None:
        return None


def backward_of_none(h: torch.Tensor) -> torch.Tensor:
    return _Nothing.apply(h)  # cut


class _Zeros(torch.autograd.Function):
    @staticmethod
    def forward(_ctx: object, h: torch.Tensor) -> torch.Tensor:
        return h * 1.0

    @staticmethod
    def backward(_ctx: object, gradient: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(gradient)


def backward_of_zeros(h: torch.Tensor) -> torch.Tensor:
    return _Zeros.apply(h)  # cut


def rounded(h: torch.Tensor) -> torch.Tensor:
    return (h * 64).round() / 64  # cut


def signs(h: torch.Tensor) -> torch.Tensor:
    return h.sign()  # cut


def drawn(h: torch.Tensor) -> torch.Tensor:
    return torch.bernoulli(h.sigmoid())  # cut


def times_zero(h: torch.Tensor) -> torch.Tensor:
    return _ramp(h) + h * 0.0  # cut


def saturated(h: torch.Tensor) -> torch.Tensor:
    return _ramp(h) + h.clamp(5e4, 6e4) / 1e4  # cut


def checkpointed(h: torch.Tensor) -> torch.Tensor:
    def scaled(x: torch.Tensor) -> torch.Tensor:
        return x * h

    return checkpoint(scaled, torch.ones(1), use_reentrant=True)  # cut


def gradient_of_gradient(h: torch.Tensor) -> torch.Tensor:
    (slope,) = torch.autograd.grad(h.square().sum(), h, retain_graph=True)  # cut
    return slope


WAYS: tuple[Way, ...] = (
    detach,
    data,
    detached_in_place,
    no_grad,
    decorated,
    set_grad_enabled,
    inference_mode,
    numpy,
    python_list,
    python_number,
    torch_tensor,
    new_tensor,
    new_parameter,
    detached_leaf,
    integers,
    argmax,
    ranks,
    comparison,
    sampled,
    buffer_through_data,
    buffer_without_grad,
    assigned_data,
    pickled,
    saved,
    non_differentiable,
    backward_of_none,
    backward_of_zeros,
    rounded,
    signs,
    drawn,
    times_zero,
    saturated,
    checkpointed,
    gradient_of_gradient,
)


def marked_line(way: Way) -> str:
    """Return the marked line as reports write it: file and number."""
    code = inspect.unwrap(way)
    lines, first = inspect.getsourcelines(code)
    at = next(n for n, line in enumerate(lines) if line.rstrip().endswith("# cut"))
    file = Path(inspect.getsourcefile(code) or "")
    return f"{file.name}:{first + at} "
