"""Training scripts of users, each with one way to keep memory, or its healthy twin."""

import textwrap
from dataclasses import dataclass

PRELUDE = """
import atexit, collections, functools, gc, queue, weakref
import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
CONFIG = LlamaConfig(
    vocab_size=500, hidden_size=64, intermediate_size=128, num_hidden_layers=3,
    num_attention_heads=4, num_key_value_heads=4,
)

def make():
    base = LlamaForCausalLM(CONFIG)
    return get_peft_model(base, LoraConfig(target_modules=["q_proj", "v_proj"]))

model = make()
trained = [each for each in model.parameters() if each.requires_grad]
optimizer = torch.optim.AdamW(trained, lr=1e-3)
generator = torch.Generator().manual_seed(0)
{setup}

def one(step, ids):
    optimizer.zero_grad()
    output = model(input_ids=ids, labels=ids)
    output.loss.backward()
    optimizer.step()
{body}

def train(steps):
    for step in range(steps):
        one(step, torch.randint(0, 500, (4, 32), generator=generator))
"""


@dataclass(frozen=True)
class Leak:
    """A way to keep memory: what stands in the script, and what must be said of it."""

    id: str
    holder: str
    kind: str
    setup: str
    body: str
    healthy: str
    line: str = ""
    healthy_setup: str | None = None

    def script(self, *, healthy: bool = False) -> str:
        """Return the text of the script."""
        setup = self.setup
        if healthy and self.healthy_setup is not None:
            setup = self.healthy_setup
        body = self.healthy if healthy else self.body
        return PRELUDE.format(
            setup=textwrap.dedent(setup),
            body=textwrap.indent(textwrap.dedent(body), "    "),
        )


LEAKS = (
    Leak(
        "loss-list",
        "losses",
        "collection",
        "losses = []",
        "losses.append(model(input_ids=ids, labels=ids).loss)",
        "losses.append(model(input_ids=ids, labels=ids).loss.item())",
        "losses.append(",
    ),
    Leak(
        "closure",
        "record > recorder().seen",
        "closure",
        """
        def recorder():
            seen = []
            def record(value):
                seen.append(value)
            return record
        record = recorder()
        """,
        "record(output.logits.detach())",
        "record(float(output.loss))",
        "seen.append(value)",
    ),
    Leak(
        "hook",
        "model.base_model.model.model.layers[0]._forward_hooks[...]"
        " > watch_layer().outputs",
        "hook",
        """
        def watch_layer(layer):
            outputs = []
            layer.register_forward_hook(
                lambda module, args, output: outputs.append(output)
            )
        watch_layer(model.base_model.model.model.layers[0])
        """,
        "",
        "",
        "outputs.append(output)",
        """
        def watch_layer(layer):
            norms = []
            layer.register_forward_hook(
                lambda module, args, output: norms.append(float(output[0].norm()))
            )
        watch_layer(model.base_model.model.model.layers[0])
        """,
    ),
    Leak(
        "cycle",
        "Runner",
        "garbage",
        """
        gc.disable()
        class Runner:
            def __init__(self, model):
                self.model, self.buffer = model, torch.zeros(64, 1024)
                self.back = [self]
        """,
        "Runner(model)",
        "runner = Runner(model)",
        healthy_setup="""
        class Runner:
            def __init__(self, model):
                self.model, self.buffer = model, torch.zeros(64, 1024)
                self.back = [weakref.ref(self)]
        """,
    ),
    Leak(
        "past-key-values",
        "caches",
        "collection",
        "caches = []",
        "caches.append(output.past_key_values)",
        "caches[:] = [output.past_key_values]",
        "caches.append(",
    ),
    Leak(
        "optimizer-of-a-deleted-model",
        "trials",
        "optimizer",
        "trials = []",
        "trials.append(torch.optim.SGD(make().parameters(), lr=0.1))",
        "trial = torch.optim.SGD(make().parameters(), lr=0.1)",
        "trials.append(",
    ),
    Leak(
        "del-that-never-runs",
        "Session",
        "unknown",
        """
        class Session:
            def __init__(self):
                self.buffer = torch.zeros(64, 1024)
                atexit.register(self.close)
            def close(self):
                self.buffer = None
            def __del__(self):
                self.close()
        """,
        "Session()",
        "Session()",
        healthy_setup="""
        class Session:
            def __init__(self):
                self.buffer = torch.zeros(64, 1024)
            def close(self):
                self.buffer = None
            def __del__(self):
                self.close()
        """,
    ),
    Leak(
        "lru-cache",
        "mask_of<_lru_cache_wrapper>",
        "cache",
        """
        @functools.lru_cache(maxsize=None)
        def mask_of(length, step):
            return torch.ones(length, length).tril()
        """,
        "mask_of(128, step)",
        "mask_of(128, 0)",
    ),
    Leak(
        "traceback",
        "errors",
        "traceback",
        "errors = []",
        """
        try:
            large = torch.zeros(64, 1024)
            raise ValueError(step)
        except ValueError as error:
            errors.append(error)
        """,
        """
        try:
            large = torch.zeros(64, 1024)
            raise ValueError(step)
        except ValueError as error:
            errors.append(str(error))
        """,
        "errors.append(",
    ),
    Leak(
        "queue",
        "events.queue",
        "queue",
        "events = queue.Queue()",
        "events.put(output.logits.detach().numpy())",
        "events.put(output.logits.detach().numpy()); events.get()",
        "events.put(",
    ),
    Leak(
        "accumulated-metrics",
        "metric.predictions",
        "collection",
        """
        class Metric:
            def __init__(self):
                self.predictions = []
            def update(self, logits):
                self.predictions.append(logits.argmax(-1).repeat(64, 1))
        metric = Metric()
        """,
        "metric.update(output.logits)",
        "metric.update(output.logits); metric.predictions.clear()",
        "self.predictions.append(",
    ),
    Leak(
        "cached-masks",
        "model.masks",
        "collection",
        "model.masks = {}",
        "model.masks[step] = torch.ones(128, 128).tril()",
        "model.masks[len(ids)] = torch.ones(128, 128).tril()",
        "model.masks[step] =",
    ),
    Leak(
        "carried-state",
        "average",
        "variable",
        "average = torch.zeros(())",
        """
        global average
        loss = model(input_ids=ids, labels=ids).loss
        average = 0.9 * average + 0.1 * loss
        """,
        """
        global average
        loss = model(input_ids=ids, labels=ids).loss
        average = 0.9 * average + 0.1 * loss.detach()
        """,
        "average = 0.9",
    ),
    Leak(
        "joined-tensor",
        "history",
        "variable",
        "history = torch.zeros(0)",
        """
        global history
        history = torch.cat([history, output.logits.detach().flatten()])
        """,
        """
        global history
        history = torch.cat([history, output.logits.detach().flatten()])[-64000:]
        """,
        "history = torch.cat(",
    ),
    Leak(
        "linked-list",
        "last.before.value",
        "variable",
        """
        class Link:
            def __init__(self, value, before):
                self.value, self.before = value, before
        last = None
        """,
        """
        global last
        last = Link(output.logits.detach(), last)
        """,
        """
        global last
        last = Link(output.logits.detach(), None)
        """,
    ),
)
