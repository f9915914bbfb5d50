"""Ways to lose a setting on the way to a thread, a task or a worker; and their cure.

Each takes the model, a batch and what it is started in: `contextlib.nullcontext`, or
`ftlab.scope`.
"""

import asyncio
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.data import DataLoader, TensorDataset

REQUEST: contextvars.ContextVar[str] = contextvars.ContextVar("request")
BF16 = {"dtype": torch.bfloat16}


def in_thread(function: Any) -> None:
    thread = threading.Thread(target=function, name="helper")
    thread.start()
    thread.join()


def thread_without_autocast(call: Any, scope: Any) -> None:
    with torch.autocast("cpu", **BF16), scope():
        in_thread(call)


def thread_without_no_grad(call: Any, scope: Any) -> None:
    with torch.no_grad(), scope():
        in_thread(call)


def thread_without_inference_mode(call: Any, scope: Any) -> None:
    with torch.inference_mode(), scope():
        in_thread(call)


def thread_without_default_device(call: Any, scope: Any) -> None:
    with torch.device("meta"), scope():
        in_thread(call)


def timer_without_autocast(call: Any, scope: Any) -> None:
    with torch.autocast("cpu", **BF16), scope():
        timer = threading.Timer(0.01, call)
        timer.start()
        timer.join()


def pool_without_autocast(call: Any, scope: Any) -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()  # its thread is there already
        with torch.autocast("cpu", **BF16), scope():
            pool.submit(call).result()


def pool_map_without_no_grad(call: Any, scope: Any) -> None:
    with ThreadPoolExecutor(1) as pool, torch.no_grad(), scope():
        list(pool.map(lambda _: call(), range(2)))


def thread_without_variable(call: Any, scope: Any) -> None:
    token = REQUEST.set("a7")
    with scope():
        in_thread(call)
    REQUEST.reset(token)


def executor_without_variable(call: Any, scope: Any) -> None:
    async def serve() -> None:
        REQUEST.set("a7")
        with scope():
            await asyncio.get_running_loop().run_in_executor(None, call)

    asyncio.run(serve())


def task_with_a_neighbours_no_grad(call: Any, scope: Any) -> None:
    async def evaluate() -> None:
        with torch.no_grad():
            await asyncio.sleep(0.02)

    async def train() -> None:
        await asyncio.sleep(0.005)
        call()

    async def both() -> None:
        with scope():
            await asyncio.gather(evaluate(), train())

    asyncio.run(both())


def task_with_a_neighbours_autocast(call: Any, scope: Any) -> None:
    async def generate() -> None:
        with torch.autocast("cpu", **BF16):
            await asyncio.sleep(0.02)

    async def train() -> None:
        await asyncio.sleep(0.005)
        call()

    async def both() -> None:
        with scope():
            await asyncio.gather(generate(), train())

    asyncio.run(both())


def task_after_its_block(call: Any, scope: Any) -> None:
    async def train() -> None:
        call()

    async def start() -> None:
        with torch.autocast("cpu", **BF16), scope():
            task = asyncio.get_running_loop().create_task(train())
        await task

    asyncio.run(start())


@dataclass(frozen=True)
class Way:
    """How it is lost, and what a finding of it says."""

    lose: Any
    was: str
    now: str
    started: str
    kind: str
    holder: str = ""


WAYS = {
    each.lose.__name__: each
    for each in (
        Way(
            thread_without_autocast,
            "autocast to bfloat16",
            "autocast off",
            "thread.start()",
            "thread",
        ),
        Way(
            thread_without_no_grad,
            "gradients off",
            "gradients on",
            "thread.start()",
            "thread",
        ),
        Way(
            thread_without_inference_mode,
            "gradients off, inference mode on",
            "gradients on, inference mode off",
            "thread.start()",
            "thread",
        ),
        Way(
            thread_without_default_device,
            "default device meta",
            "default device cpu",
            "thread.start()",
            "thread",
        ),
        Way(
            timer_without_autocast,
            "autocast to bfloat16",
            "autocast off",
            "timer.start()",
            "thread",
        ),
        Way(
            pool_without_autocast,
            "autocast to bfloat16",
            "autocast off",
            "pool.submit(call)",
            "call in a thread pool",
        ),
        Way(
            pool_map_without_no_grad,
            "gradients off",
            "gradients on",
            "pool.map(",
            "call in a thread pool",
        ),
        Way(
            thread_without_variable,
            "variable REQUEST (str)",
            "variable REQUEST unset",
            "thread.start()",
            "thread",
        ),
        Way(
            executor_without_variable,
            "variable REQUEST (str)",
            "variable REQUEST unset",
            "run_in_executor(",
            "call in a thread pool",
        ),
        Way(
            task_with_a_neighbours_no_grad,
            "gradients on",
            "gradients off",
            "asyncio.gather(",
            "task",
            "evaluate",
        ),
        Way(
            task_with_a_neighbours_autocast,
            "autocast off",
            "autocast to bfloat16",
            "asyncio.gather(",
            "task",
            "generate",
        ),
        Way(
            task_after_its_block,
            "autocast to bfloat16",
            "autocast off",
            "create_task(train())",
            "task",
        ),
    )
}


def rows_of_spawned_workers() -> Any:
    """Return a loader whose workers begin anew."""
    rows = TensorDataset(torch.zeros(4, 2))
    return DataLoader(rows, num_workers=1, multiprocessing_context="spawn")
