"""Damage to a folder of a run, drawn at random from a seed."""

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

FOREIGN: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    3,
    10**30,
    -(2**63),
    1e308,
    0.5,
    {"$float": "nan"},
    {"$float": "-inf"},
    {"$float": "no number"},
    "",
    "word",
    "x" * 10**6,
    "a\x1b[2Jb\x07\u202ec\x00\ud800",
    "line\nline",
    [],
    [[]],
    {},
    {"a": {"b": [1, None]}},
    ["x"] * 1000,
)
NUMBERS = (0, -1, 1, 2**31 - 1, -(2**31), 2**62, -(2**63), 10**9)
FLOATS = (float("nan"), float("inf"), -float("inf"), 1e308, -1e-320, 0.0)
TEXTS = ("", "no JSON", "[]", '{"a": NaN}', "x" * 10**5, "a\x1b[2Jb\u202e", None)


def mutate(folder: Path, seed: int) -> str:
    """Damage one to three files; say which and how."""
    draw = random.Random(seed)
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    said = []
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        path = draw.choice(files)
        if not path.is_file() or path.is_symlink():
            continue
        fitting = _JSON if path.suffix in {".json", ".jsonl"} else _ARROW
        change = draw.choice((*_ANY, *fitting * 4))
        change(path, draw)
        said.append(f"{change.__name__} {path.relative_to(folder)}")
    return ", ".join(said)


def flip(path: Path, draw: random.Random) -> None:
    """Change some bytes."""
    data = bytearray(path.read_bytes())
    for _ in range(draw.choice((1, 1, 2, 8, 64))):
        data[draw.randrange(len(data))] ^= draw.randrange(1, 256)
    path.write_bytes(data)


def cut(path: Path, draw: random.Random) -> None:
    """Lose the end, and perhaps have zeros in its place."""
    data = path.read_bytes()
    kept = data[: draw.randrange(len(data))]
    path.write_bytes(kept + bytes(draw.choice((0, 0, 1, 512))))


def swap(path: Path, draw: random.Random) -> None:
    """Hold what another file of the folder holds."""
    shutil.copy(draw.choice(sorted(path.parent.glob("*.*"))), path.with_suffix(".tmp"))
    path.with_suffix(".tmp").replace(path)


def other(path: Path, draw: random.Random) -> None:
    """Be gone, or something that is no file."""
    path.unlink()
    put: Callable[[Path], Any] = draw.choice(
        (
            lambda _: None,
            os.mkfifo,
            Path.mkdir,
            lambda place: place.symlink_to("/nowhere"),
            lambda place: place.symlink_to(place),
            lambda place: place.symlink_to("/dev/zero"),
            lambda place: place.symlink_to(place.parent),
        )
    )
    put(path)


def value(path: Path, draw: random.Random) -> None:
    """Put something foreign at a place in a file of JSON."""
    try:
        text = path.read_text()
        lines = text.splitlines() if path.suffix == ".jsonl" else [text]
        at = draw.randrange(len(lines))
        root = [json.loads(lines[at])]
    except ValueError:  # it is damaged already
        return
    spots = list(_spots(root))
    holder, key = draw.choice(spots)
    holder[key] = draw.choice(FOREIGN)
    if draw.random() < 0.1:
        deep = "[" * 100_000 + "]" * 100_000
        lines[at] = json.dumps(root[0])[:-1] + f', "deep": {deep}}}'
    else:
        lines[at] = json.dumps(root[0])
    path.write_text("\n".join(lines) + "\n")


def column(path: Path, draw: random.Random) -> None:
    """Put foreign values, or another type, into a table."""
    data = path.read_bytes()
    opened = pa.ipc.open_file if data.startswith(b"ARROW1") else pa.ipc.open_stream
    try:
        table = opened(data).read_all()
    except (pa.ArrowException, OSError):  # it is damaged already
        return
    if not table.num_rows:
        return
    at = draw.randrange(table.num_columns)
    field = table.schema.field(at)
    values: list[Any] = table.column(at).to_pylist()
    numbers = {pa.types.is_integer: NUMBERS, pa.types.is_floating: FLOATS}
    pools = [pool for fits, pool in numbers.items() if fits(field.type)]
    pool: tuple[Any, ...] = (*pools, TEXTS)[0]
    for _ in range(draw.choice((1, 3, len(values)))):
        values[draw.randrange(len(values))] = draw.choice(pool)
    kinds = (field.type, field.type, field.type, pa.string(), pa.int64(), pa.float64())
    try:
        made = pa.array(values, draw.choice(kinds))
    except (pa.ArrowException, OverflowError, TypeError):
        made = pa.array(map(repr, values))
    name = draw.choice((field.name, field.name, field.name, "step", "\x1b[2J"))
    table = table.set_column(at, field.with_name(name).with_type(made.type), made)
    metadata = dict(table.schema.metadata or {})
    if draw.random() < 0.3 and metadata:
        metadata[draw.choice(sorted(metadata))] = draw.choice(
            (b"", b"-1", b"9" * 30, b"x", b"\xff")
        )
    table = table.replace_schema_metadata(metadata)
    new = pa.ipc.new_file if draw.random() < 0.7 else pa.ipc.new_stream
    with new(str(path), table.schema) as writer:
        writer.write_table(table)


def _spots(value: Any) -> Any:
    """Yield each place within ``value`` that holds something."""
    keys = range(len(value)) if isinstance(value, list) else list(value)
    for key in keys:
        yield value, key
        if isinstance(value[key], list | dict):
            yield from _spots(value[key])


_ANY = (flip, cut, swap, other)
_JSON = (value,)
_ARROW = (column,)
