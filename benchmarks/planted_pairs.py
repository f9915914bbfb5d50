"""How often the place where two executions part is named: module and operation.

Pairs of one model are made, Llama-, Qwen-, Gemma-, GPT-2- and Mixtral-like, in float32
and bf16, some with LoRA, some with 4-bit layers. Half of them get one change at a
random place: a weight, what a module returns, or the result of one of torch's functions
within a module, at some token or at all, and at least ten times as large as what
rounding does there. The other half computes the same in another way: other attention,
other numbers of threads, rows in another batch, a linear layer's sum in two halves.
With ``--backward`` the changes are of gradients alone, see
`benchmarks.planted_backward`.

    python -m benchmarks.planted_pairs --pairs 100
"""

import argparse
import contextlib
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, resolve_name

from ftlab.executions.difference import compare
from ftlab.executions.listening import heard_modules
from ftlab.executions.pairs import Pair
from ftlab.executions.side import Side
from ftlab.executions.tokens import Grid, Meeting
from ftlab.records.difference import Differences

FAMILIES = ("llama", "qwen", "gemma", "gpt2", "mixtral")
VOCABULARY = 160
FLOORS = {torch.float32: 2e-7, torch.bfloat16: 4e-3}
"""Relative change that rounding makes of a value, at most."""


@dataclass(slots=True)
class Planted:
    """One change: what it is, and where it must be found."""

    kind: str
    module: str
    op: Any
    settings: Callable[[], Any] = contextlib.nullcontext
    remove: list[Callable[[], None]] = field(default_factory=list)
    shown: Callable[[Any, Any, Any], bool] = lambda *_: True
    """Asked with both models and what they are given, whether there is anything."""


def build(family: str, dtype: torch.dtype, extra: str, seed: int) -> Any:
    """Make a model of three layers; the same seed makes the same weights."""
    import transformers as tf

    torch.manual_seed(seed)
    shape = {
        "vocab_size": VOCABULARY,
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "use_cache": False,
        "pad_token_id": 0,
    }
    if family == "gpt2":
        config: Any = tf.GPT2Config(
            vocab_size=VOCABULARY, n_embd=64, n_layer=3, n_head=4, use_cache=False
        )
    elif family == "mixtral":
        config = tf.MixtralConfig(**shape, num_local_experts=4, num_experts_per_tok=2)
    else:
        kind = {"llama": "Llama", "qwen": "Qwen3", "gemma": "Gemma2"}[family]
        config = getattr(tf, f"{kind}Config")(**shape)
    model = tf.AutoModelForCausalLM.from_config(config).to(dtype)
    for parameter in model.parameters():  # norms and biases that are told apart
        if parameter.dim() == 1:
            parameter.data += 0.1 * torch.randn_like(parameter)
    if extra == "4bit":
        _quantise(model, dtype)
    return _adapted(model, family) if extra in ("lora", "4bit") else model


def _quantise(model: Any, dtype: torch.dtype) -> None:
    import bitsandbytes as bnb

    for name, module in list(model.named_modules()):
        if type(module) is torch.nn.Linear and "layers" in name:
            new = bnb.nn.Linear4bit(
                module.in_features,
                module.out_features,
                bias=module.bias is not None,
                compute_dtype=dtype,
                quant_type="nf4",
            )
            new.load_state_dict(module.state_dict())
            parent = model.get_submodule(name.rpartition(".")[0])
            setattr(parent, name.rpartition(".")[2], new.to("cpu"))


def _adapted(model: Any, family: str) -> Any:
    from peft import LoraConfig, get_peft_model

    targets = ["c_attn"] if family == "gpt2" else ["q_proj", "v_proj"]
    config = LoraConfig(target_modules=targets, init_lora_weights=False, r=4)
    return get_peft_model(model, config)


def batch(draw: random.Random) -> dict[str, torch.Tensor]:
    """Make three rows, one of them padded."""
    ids = torch.tensor(
        [[draw.randrange(3, VOCABULARY) for _ in range(14)] for _ in "abc"]
    )
    mask = torch.ones_like(ids)
    mask[1, 9:] = 0
    ids[1, 9:] = 0
    labels = torch.where(mask == 1, ids, -100)
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


class ChangedCall(TorchFunctionMode):
    """Changes what one call of a function within one module returns."""

    def __init__(self, model: Any, module: str, number: int, change: Any) -> None:
        super().__init__()
        self.name = ""
        self._module, self._number, self._change = module, number, change
        self._stack: list[str] = []
        self._count = 0
        self._handles = []
        for name, each in heard_modules(model):
            self._handles += [
                each.register_forward_pre_hook(self._enter(name), prepend=True),
                each.register_forward_hook(self._leave),
            ]

    def _leave(self, *_: Any) -> None:
        self._stack.pop()

    def _enter(self, name: str) -> Callable[..., None]:
        return lambda *_: self._stack.append(name)

    def __enter__(self) -> "ChangedCall":
        self._count, self._stack = 0, []
        return super().__enter__()

    def remove(self) -> None:
        """Take the hooks off."""
        for handle in self._handles:
            handle.remove()

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run ``func``; change what it returns if it is the one."""
        made = func(*args, **(kwargs or {}))
        inside = bool(self._stack) and self._stack[-1] == self._module
        if not inside or not _computes(func, made):
            return made
        self._count += 1
        if self._count - 1 != self._number:
            return made
        self.name = (resolve_name(func) or func.__name__).removeprefix("torch.")
        self.name = self.name.removeprefix("nn.functional.")
        return self._change(made)


_NO_ARITHMETIC = (
    "view",
    "transpose",
    "contiguous",
    "reshape",
    "__get__",
    "to",
    "expand",
)


def _computes(func: Any, made: Any) -> bool:
    name = resolve_name(func) or getattr(func, "__name__", "")
    skip = name.rpartition(".")[2] in _NO_ARITHMETIC or name.endswith("__get__")
    floats = isinstance(made, torch.Tensor) and made.is_floating_point()
    return floats and not skip and made.dim() > 2


def changing(
    draw: random.Random, size: float
) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return a change: all values scaled, or those of one row, or of one position."""
    how = draw.choice(("all", "row", "position"))
    row, position = draw.choice((0, 2)), draw.randrange(9)

    def change(tensor: torch.Tensor) -> torch.Tensor:
        factor = torch.ones((), dtype=tensor.dtype)
        if how == "all" or tensor.shape[0] != 3:
            return tensor * (factor + size)
        scale = torch.ones(tensor.shape[:2] + (1,) * (tensor.dim() - 2))
        if how == "row":
            scale[row] += size
        else:
            scale[row, position % tensor.shape[1]] += size
        return tensor * scale.to(tensor.dtype)

    return change


def plant(model: Any, dtype: torch.dtype, draw: random.Random) -> Planted:
    """Change one thing of ``model``."""
    size = FLOORS[dtype] * 10 ** draw.uniform(1.3, 2.5)
    kind = draw.choice(("weight", "output", "function", "function"))
    named = [(n, m) for n, m in heard_modules(model) if n]
    if kind == "weight":
        held = [
            (n, name, p)
            for n, m in named
            for name, p in m.named_parameters(recurse=False)
            if p.dtype == dtype and "lora" not in n
        ]
        module, name, parameter = draw.choice(held)
        parameter.data.mul_(1 + size)
        return Planted(f"weight {name}", module, "")
    leaves = [n for n, m in named if not [*m.children()] and "drop" not in n]
    if kind == "output":
        module = draw.choice(
            [n for n in leaves if "rotary" not in n and "act" not in n]
        )
        change = changing(draw, size)
        inner = dict(heard_modules(model))[module]
        planted = Planted("output", module, "")

        def hook(_module: Any, _given: Any, output: Any) -> Any:
            planted.op = "Tensor.mul"
            return _first(output, change)

        planted.remove.append(inner.register_forward_hook(hook).remove)
        return planted
    module = draw.choice([n for n, _ in named if "drop" not in n])
    mode = ChangedCall(model, module, draw.randrange(6), changing(draw, size))
    # Which function it is is known when it has run.
    return Planted("function", module, mode, lambda: mode, [mode.remove])


def _first(output: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    return (
        change(output)
        if isinstance(output, torch.Tensor)
        else (change(output[0]), *output[1:])
    )


def right_module(found: Differences, planted: Planted) -> bool:
    """Say whether the first birth is in the module that was changed."""
    return bool(found.born) and found.born[0].module == planted.module


def right_op(found: Differences, op: str, kind: str) -> bool:
    """Say whether the operation is the one that was changed."""
    if not found.born:
        return False
    names, lines = found.born[0].ops, found.born[0].lines
    if kind.startswith("weight"):  # the first operation that uses the weight
        return found.born[0].weights == (kind.split()[1],) and any(names)
    return op in names or any(op and line.endswith(op) for line in lines)


@contextlib.contextmanager
def threads(count: int) -> Iterator[None]:
    """Compute with several threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class HalfSums(TorchFunctionMode):
    """Computes each linear layer's sum in two halves."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run ``func``, a linear layer in halves."""
        if func is not torch.nn.functional.linear or kwargs:
            return func(*args, **(kwargs or {}))
        x, weight, *bias = args
        half = weight.shape[1] // 2
        made = func(x[..., :half], weight[:, :half]) + func(
            x[..., half:], weight[:, half:]
        )
        return made + bias[0] if bias and bias[0] is not None else made


def rounding(
    model: Any, twin: Any, given: Any, draw: random.Random
) -> tuple[str, Any, Any, Any]:
    """Return a way to the same result by other roundings: name, sides, meeting."""
    a = Side(model, given, lambda: model(**given))
    kind = draw.choice(("attention", "threads", "order", "rows alone"))
    if kind == "attention":
        for config in {
            id(m.config): m.config for m in twin.modules() if hasattr(m, "config")
        }.values():
            if hasattr(config, "_attn_implementation"):
                config._attn_implementation = "eager"
        return kind, a, Side(twin, given, lambda: twin(**given)), None
    if kind == "threads":
        return (
            kind,
            a,
            Side(twin, given, lambda: twin(**given), lambda: threads(2)),
            None,
        )
    if kind == "order":
        return kind, a, Side(twin, given, lambda: twin(**given), HalfSums), None
    row = draw.randrange(3)
    length = int(given["attention_mask"][row].sum())
    alone = {k: v[row : row + 1, :length] for k, v in given.items() if k != "labels"}
    whole = {k: v for k, v in given.items() if k != "labels"}
    grid = Grid.of(whole)
    assert grid is not None
    mine = grid.rows == row
    there = Grid(grid.shape, grid.rows[mine], grid.positions[mine])
    meeting = Meeting(Grid.of(alone), there, moved=True)
    a = Side(model, alone, lambda: model(**alone))
    return kind, a, Side(twin, whole, lambda: twin(**whole)), meeting


def main() -> None:
    """Make pairs and count."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--backward", action="store_true", help="plant changes of gradients alone"
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    change = plant
    if options.backward:
        from benchmarks.planted_backward import plant as change
    count: Counter[str] = Counter()
    draw = random.Random(options.seed)
    while count["planted"] < options.pairs or count["same"] < options.pairs:
        family, dtype = draw.choice(FAMILIES), draw.choice([*FLOORS])
        extra = draw.choice(("", "lora", "4bit"))
        seed = draw.randrange(1000)
        model, twin = (build(family, dtype, extra, seed) for _ in "ab")
        given, label = batch(draw), f"{family} {dtype} {extra}"
        if count["planted"] <= count["same"]:
            planted = change(twin, dtype, draw)
            _planted(count, (model, twin), given, planted, label)
        else:
            _same(count, rounding(model, twin, given, draw), label)
    print(dict(count))


def _same(count: Counter[str], pair: tuple[str, Any, Any, Any], label: str) -> None:
    kind, a, b, meeting = pair
    found = compare(Pair(a, b, ("a", "b"), meeting))
    count["same"] += 1
    if not found.equal:
        count["told wrongly"] += 1
        told = [(x.module, x.tensor, x.ops, x.ratio) for x in found.born[:2]]
        print("WRONG", kind, label, told)


def _planted(
    count: Counter[str],
    models: tuple[Any, Any],
    given: Any,
    planted: Planted,
    label: str,
) -> None:
    model, twin = models
    try:
        if not planted.shown(model, twin, given):
            return
        a = Side(model, given, lambda: model(**given))
        b = Side(twin, given, lambda: twin(**given), planted.settings)
        found = compare(Pair(a, b, ("a", "b")))
    finally:
        for remove in planted.remove:
            remove()
    op = planted.op if isinstance(planted.op, str) else planted.op.name
    if not planted.kind.startswith("weight") and not op:
        return  # the module does not run, or computes nothing of its own
    count["planted"] += 1
    module, operation = right_module(found, planted), right_op(found, op, planted.kind)
    count["module"] += module
    count["op"] += module and operation
    if not (module and operation):
        told = [
            (x.module, x.ops, x.tensor, x.lines, round(x.ratio, 1), x.weights)
            for x in found.born[:2]
        ]
        print(
            module,
            operation,
            "MISSED",
            label,
            planted.kind,
            planted.module,
            op,
            "->",
            told,
        )


if __name__ == "__main__":
    main()
