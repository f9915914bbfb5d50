"""What other tools say of the pairs of `benchmarks.planted_pairs`: the module, first.

TorchLens logs both sides and compares them op by op (``debug.first_divergence``);
msprobe dumps both sides' tensors, at level L0 (modules) or mix (modules and functions),
and compares the dumps. Each is asked with its own thresholds, and with the thresholds
that suit it best on these very pairs, one for each dtype. The pairs are those of
``benchmarks.planted_pairs`` with the same ``--pairs`` and ``--seed``. Results stand in
``benchmarks/planted_pairs.md``.

msprobe is no dependency of ftlab's and needs an environment of its own, which borrows
all else from ``.venv``:

    scripts/set_up.sh bench
    .venv/bin/python -m venv .venv-others
    sed 's/ *#.*//' requirements/dev.txt requirements/bench.txt >.venv-others/held.txt
    .venv-others/bin/pip install -c .venv-others/held.txt mindstudio-probe==26.2.0
    realpath .venv/lib/python3*/site-packages >.venv-others/borrowed.pth
    mv .venv-others/borrowed.pth .venv-others/lib/python3*/site-packages
    .venv-others/bin/python -m benchmarks.planted_pairs_others --tool msprobe-L0

A change is planted beneath what the tools wrap: the operation that computed the value
returns another, and a tool sees no operation of ours. Pairs of which a side has other
rows than the other, which neither tool can align, are not shown to them.
"""

import argparse
import contextlib
import json
import logging
import os
import random
import re
import statistics
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.planted_pairs import (
    FAMILIES,
    FLOORS,
    Planted,
    batch,
    build,
    plant,
    rounding,
)
from ftlab.executions.difference import compare
from ftlab.executions.listening import heard_modules, shared_name
from ftlab.executions.pairs import Pair
from ftlab.executions.side import Side

Settings = Callable[[], Any]
DEFAULT = "default"
CHANGES = ("weight", "output", "function")
ROUNDINGS = ("attention", "threads", "order", "rows alone")
LIMITS = tuple(m * 10.0**e for e in range(-7, 1) for m in (1, 3))


@dataclass(slots=True)
class Task:
    """Two models to tell apart; ``module`` differs, or nothing does if it is None."""

    kind: str
    label: str
    dtype: torch.dtype
    models: tuple[Any, Any]
    given: Any
    settings: Settings = contextlib.nullcontext
    module: str | None = None
    sides: Any = None
    prepare: Callable[[], None] = lambda: None

    def __str__(self) -> str:
        return f"{self.label} {self.dtype} {self.kind} {self.module}"

    def runs(self) -> tuple[tuple[Any, Settings], tuple[Any, Settings]]:
        """Return each model and what to enter around its call."""
        model, twin = self.models
        return (model, contextlib.nullcontext), (twin, self.settings)

    def plant(self, change: Planted, around: Settings, others: bool) -> None:
        """Change the second model, beneath what a tool wraps if for others."""
        (model, twin), given = self.models, self.given
        a = Side(model, given, lambda: model(**given))
        settings = nested(around, change.settings)
        self.sides = a, Side(twin, given, lambda: twin(**given), settings), None

        def prepare() -> None:
            self.settings = nested(around, below(change, twin, given, around))

        if others:
            self.prepare = prepare


def nested(outer: Settings, inner: Settings) -> Settings:
    """Enter both."""

    @contextlib.contextmanager
    def both() -> Iterator[None]:
        with outer(), inner():
            yield

    return both


class CannotRunError(Exception):
    """A tool has no answer; the message says why."""


# Torch's own, whatever a tool puts in their place.
_LINEAR = torch.nn.functional.linear
_ATEN = torch.ops.aten


class HalfSumsBelow(TorchFunctionMode):
    """`HalfSums`, of operations that no tool sees."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run ``func``, a linear layer in halves."""
        if func is not _LINEAR or kwargs:
            return func(*args, **(kwargs or {}))
        x, weight, *bias = args
        rows, half = x.dim() - 1, weight.shape[1] // 2
        made = [
            _ATEN.linear.default(
                _ATEN.slice.Tensor(x, rows, *part), _ATEN.slice.Tensor(weight, 1, *part)
            )
            for part in ((0, half), (half, weight.shape[1]))
        ]
        total = _ATEN.add.Tensor(*made)
        return (
            _ATEN.add.Tensor(total, bias[0]) if bias and bias[0] is not None else total
        )


class Recorder(TorchDispatchMode):
    """Keeps the name and the result of each operation."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[tuple[str, torch.Tensor, torch.Tensor]] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run ``func``; keep what it made."""
        result = func(*args, **(kwargs or {}))
        for tensor in _tensors(result)[:1]:
            self.made.append((str(func), tensor, tensor.clone()))
        return result

    def birth_of(self, value: torch.Tensor) -> int:
        """Return the number of the operation that computed ``value``."""
        at = value.untyped_storage().data_ptr()
        own = [
            index
            for index, (_, tensor, _) in enumerate(self.made)
            if tensor.untyped_storage().data_ptr() == at
        ]
        computed = [i for i in own if not _is_view(self.made[i][0])]
        if not computed:
            message = "no operation computed the value that was changed"
            raise CannotRunError(message)
        return computed[-1]


def _is_view(name: str) -> bool:
    views = ("view", "transpose", "reshape", "slice", "select", "expand", "alias")
    views += (
        "unsafe_view",
        "permute",
        "detach",
        "unsqueeze",
        "squeeze",
        "split",
        "t.",
        "chunk",
    )
    return name.removeprefix("aten.").lstrip("_").startswith(views)


class Replaced(TorchDispatchMode):
    """Lets the operation that is known by its name and result return another value."""

    def __init__(self, recorder: Recorder, value: torch.Tensor, changed: Any) -> None:
        super().__init__()
        birth = recorder.birth_of(value)
        self._name, _, self._result = recorder.made[birth]
        same = [self._is_it(name, bits) for name, _, bits in recorder.made[:birth]]
        self._before = sum(same)
        self._where = (value.shape, value.stride(), value.storage_offset())
        self._changed = changed.detach().clone()
        self._seen = 0
        self.done = False

    def _is_it(self, name: str, result: torch.Tensor) -> bool:
        return (
            name == self._name
            and result.dtype == self._result.dtype
            and _ATEN.equal.default(result, self._result)
        )

    def __enter__(self) -> "Replaced":
        self._seen, self.done = 0, False
        super().__enter__()
        return self

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run ``func``; write the changed value into its result if it is the one."""
        result = func(*args, **(kwargs or {}))
        for tensor in _tensors(result)[:1] if not self.done else ():
            if self._is_it(str(func), tensor):
                self._seen += 1
                if self._seen > self._before:
                    self.done = True
                    there = _ATEN.as_strided.default(tensor, *self._where)
                    _ATEN.copy_.default(there, self._changed)
        return result


def _tensors(result: Any) -> list[torch.Tensor]:
    parts = result if isinstance(result, (tuple, list)) else [result]
    return [part for part in parts if isinstance(part, torch.Tensor)]


def run(model: Any, given: Any) -> torch.Tensor:
    """Return logits."""
    with torch.no_grad():
        return model(**given).logits


def below(planted: Planted, twin: Any, given: Any, around: Settings) -> Settings:
    """Plant the same beneath what a tool wraps; take off what `plant` put on."""
    if planted.kind.startswith("weight"):
        return contextlib.nullcontext
    noted: list[Any] = []
    recorder = Recorder()
    if planted.kind == "function":
        change = planted.op._change

        def noting(made: torch.Tensor) -> torch.Tensor:
            changed = change(made)
            noted.append((made, changed))
            return changed

        planted.op._change = noting
        handles = []
    else:
        inner = dict(heard_modules(twin))[planted.module]
        before: list[Any] = []
        handles = [
            inner.register_forward_hook(
                lambda _m, _g, out: before.append(_tensors(out)[0]), prepend=True
            ),
            inner.register_forward_hook(
                lambda _m, _g, out: noted.append((before[0], _tensors(out)[0]))
            ),
        ]
    with torch.no_grad(), around(), recorder, planted.settings():
        wanted = twin(**given).logits
    for take_off in (*planted.remove, *(handle.remove for handle in handles)):
        take_off()
    if not noted:
        return contextlib.nullcontext
    mode = Replaced(recorder, *noted[0])
    with around(), mode:
        found = run(twin, given)
    if not mode.done or not torch.equal(found, wanted):
        message = "the change could not be planted beneath the tool"
        raise CannotRunError(message)
    return lambda: mode


# What a tool answers: the first module that differs, or None; and the same by settings.
Said = dict[str, str | None]
Answer = tuple[str | None, Callable[[], Said]]


def ask_ftlab(task: Task) -> Answer:
    """Ask ftlab."""
    a, b, meeting = task.sides
    found = compare(Pair(a, b, ("a", "b"), meeting))
    first = found.born[0].module if found.born else "?"
    return None if found.equal else first, dict


def ask_torchlens(task: Task) -> Answer:
    """Ask TorchLens."""
    import torchlens

    traces = []
    for model, settings in task.runs():
        with settings(), torch.no_grad():
            traces.append(torchlens.trace(model, input_kwargs=task.given))
    a, b = traces

    def first(**tolerances: float) -> str | None:
        row = torchlens.debug.first_divergence(a, b, **tolerances)
        if row is None:
            return None
        op = (b if row["status"] == "only-b" else a).ops[row["op"]]
        return (op.module or "").rpartition(":")[0]

    return first(), lambda: {f"{x:.0e}": first(rtol=x, atol=x) for x in LIMITS}


def ask_msprobe(level: str, task: Task) -> Answer:
    """Ask msprobe; it dumps in processes that end, for what it wraps stays wrapped."""
    import pandas
    from msprobe.pytorch.compare.pt_compare import pt_compare

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        for side, (model, settings) in zip("ba", task.runs(), strict=True):
            _in_a_fork(_dump, level, folder / side, model, task.given, settings)
        a, b = (next((folder / side).rglob("dump.json")) for side in "ab")
        (folder / "said").mkdir()
        with Path(os.devnull).open("w") as null, contextlib.redirect_stderr(null):
            paths = {"npu_path": str(a), "bench_path": str(b)}
            pt_compare(paths | {"is_print_compare_log": False}, str(folder / "said"))
        rows = pandas.read_csv(next((folder / "said").iterdir()), dtype=str)
        holders = json.loads(a.with_name("construct.json").read_text())
    table = rows.fillna("").to_dict("records")
    judged = [row for row in table if row["Result"] in ("error", "warning")]
    first = _module(_call(judged[0])[0], holders) if judged else None
    return first, lambda: _by_limits(table, holders)


def _dump(level: str, folder: Path, model: Any, given: Any, settings: Settings) -> None:
    from msprobe.pytorch import PrecisionDebugger

    debugger = PrecisionDebugger(task="tensor", level=level, dump_path=str(folder))
    debugger.start(model=model)
    with settings(), torch.no_grad():
        model(**given)
    debugger.stop()
    debugger.step()


def _in_a_fork(function: Callable[..., None], *args: Any) -> None:
    child = os.fork()
    if child == 0:
        code = 1
        with contextlib.suppress(BaseException):
            function(*args)
            code = 0
        os._exit(code)
    if os.waitpid(child, 0)[1]:
        message = f"{function.__name__} failed"
        raise CannotRunError(message)


Call = tuple[str, str]
"""One call of a module or function, and which of its tensors a row is about."""


def _call(row: dict[str, str]) -> Call:
    found = re.match(
        r"(Module\..*?\.forward\.\d+|.*?\.\d+\.forward)\.(\w+)", _about(row)
    )
    if found is None:
        message = f"{_about(row)} is no call"
        raise CannotRunError(message)
    return found[1], found[2]


def _about(row: dict[str, str]) -> str:
    """Return what a row of msprobe's is about."""
    mine = row["NPU Name"]
    return row["Bench Name"] if mine in ("", "N/A") else mine


def _module(call: str, holders: dict[str, Any]) -> str:
    if not call.startswith("Module."):
        call = holders.get(call) or ""
    # Module.PATH.CLASS.forward.NUMBER
    return ".".join(call.split(".")[1:-3])


METRICS: dict[str, Callable[[dict[str, str]], float]] = {
    "MaxAbsErr": lambda row: float(row["MaxAbsErr"]),
    "MaxRelativeErr": lambda row: float(row["MaxRelativeErr"]),
    "1 - Cosine": lambda row: 1 - float(row["Cosine"]),
    "1 - One Thousandth": lambda row: 1 - float(row["One Thousandth Err Ratio"]),
    "EucDist / l2norm": lambda row: float(row["EucDist"]) / float(row["Bench l2norm"]),
}


def _by_limits(table: list[dict[str, str]], holders: dict[str, Any]) -> Said:
    """Take the first call beyond a limit, or the first whose inputs are within it."""
    said: Said = {}
    for metric, measure in METRICS.items():
        worst: dict[str, list[float]] = {}
        for row in table:
            call, part = _call(row)
            pair = worst.setdefault(call, [0.0, 0.0])
            with contextlib.suppress(ValueError, ZeroDivisionError):
                made = part in ("output", "parameters")
                pair[made] = max(pair[made], measure(row))
        for limit in LIMITS:
            beyond = [call for call, (_, made) in worst.items() if made > limit]
            born = [call for call in beyond if worst[call][0] <= limit]
            for rule, calls in (("first", beyond), ("inputs equal", born)):
                first = _module(calls[0], holders) if calls else None
                said[f"{metric} > {limit:.0e}, {rule}"] = first
    return said


TOOLS: dict[str, Callable[[Task], Answer]] = {
    "ftlab": ask_ftlab,
    "torchlens": ask_torchlens,
    "msprobe-L0": partial(ask_msprobe, "L0"),
    "msprobe-mix": partial(ask_msprobe, "mix"),
}


def without_dropout(model: Any) -> Any:
    """Turn dropout off, but let bitsandbytes keep its weights as they are."""
    model.eval()
    for module in model.modules():
        if type(module).__name__ == "Linear4bit":
            module.train()
    return model


def tasks(options: argparse.Namespace) -> Iterator[Task]:
    """Make the pairs of `planted_pairs`, for ftlab or for others."""
    pairs, others = options.pairs, options.tool != "ftlab"
    around: Settings = HalfSumsBelow if options.rounded else contextlib.nullcontext
    draw = random.Random(options.seed)
    planted = same = 0
    while planted < pairs or same < pairs:
        family, dtype = draw.choice(FAMILIES), draw.choice([*FLOORS])
        extra = draw.choice(("", "lora", "4bit"))
        number = draw.randrange(1000)
        model, twin = (
            without_dropout(build(family, dtype, extra, number)) for _ in "ab"
        )
        given = batch(draw)
        task = Task("", f"{family} {extra}", dtype, (model, twin), given)
        if planted <= same:
            change = plant(twin, dtype, draw)
            with torch.no_grad(), around(), change.settings():
                twin(**given)
            op = change.op if isinstance(change.op, str) else change.op.name
            if op or change.kind.startswith("weight"):
                planted += 1
                task.kind, task.module = change.kind.split()[0], change.module
                task.plant(change, around, others)
                yield task
            for remove in change.remove:
                remove()
        else:
            same += 1
            task.kind, a, b, meeting = rounding(model, twin, given, draw)
            task.sides = a, b, meeting
            task.settings = HalfSumsBelow if task.kind == "order" else b.settings
            if not options.rounded:
                yield task


def main() -> None:
    """Make pairs, ask one tool, and count."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tool", choices=TOOLS, required=True)
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--rounded",
        action="store_true",
        help="only the planted changes; the changed side rounds otherwise, too",
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    logging.disable()
    answered: list[tuple[Task, Said]] = []
    count: Counter[str] = Counter()
    seconds: list[float] = []
    for task in tasks(options):
        if options.tool != "ftlab" and task.kind == "rows alone":
            count["not shown"] += 1
            continue
        try:
            answered.append((task, ask(TOOLS[options.tool], task, seconds)))
        except Exception as error:  # noqa: BLE001  whatever a tool raises
            count["could not"] += 1
            print("COULD NOT", task, type(error).__name__, str(error)[:300])
        else:
            print(task, "->", answered[-1][1][DEFAULT], flush=True)
    for best in (False, True):
        print(f"| {options.tool} | {' | '.join(summary(answered, best))} |")
    print(dict(count), f"median of {statistics.median(seconds):.1f} s")


def ask(tool: Callable[[Task], Answer], task: Task, seconds: list[float]) -> Said:
    """Ask a tool; the search for its best threshold takes none of its time."""
    task.prepare()
    start = time.perf_counter()
    first, by_settings = tool(task)
    seconds.append(time.perf_counter() - start)
    said = {DEFAULT: first} | by_settings()
    return {setting: module and shared_name(module) for setting, module in said.items()}


def summary(answered: Sequence[tuple[Task, Said]], best: bool) -> list[str]:
    """Count at a tool's own thresholds, or at the best of each dtype."""
    total: Counter[str] = Counter()
    chosen = []
    for dtype in FLOORS:
        own = [(task, said) for task, said in answered if task.dtype == dtype]
        tried = {x: score(own, x) for x in (own[0][1] if best else (DEFAULT,))}
        setting = max(tried, key=lambda x: tried[x]["exact"] - tried[x]["wrong"])
        total += tried[setting]
        chosen.append(f"{str(dtype).removeprefix('torch.')}: {setting}")
    kinds = [f"{total[k]} of {total['n ' + k]}" for k in ("exact", *CHANGES)]
    kinds += [f"{total[k]} of {total['n ' + k]}" for k in ("wrong", *ROUNDINGS)]
    return ["; ".join(chosen) if best else DEFAULT, *kinds]


def score(answered: Sequence[tuple[Task, Said]], setting: str) -> Counter[str]:
    """Count the modules that were named, and the pairs that were told wrongly."""
    count: Counter[str] = Counter()
    for task, said in answered:
        first = said[setting]
        same = task.module is None
        hit = first is not None if same else first == task.module
        for key in ("wrong" if same else "exact", task.kind):
            count[f"n {key}"] += 1
            count[key] += hit
    return count


if __name__ == "__main__":
    main()
