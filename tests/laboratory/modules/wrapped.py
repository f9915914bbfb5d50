"""Models within wrappers, as people give them to a Trainer."""

import contextlib
import sys

import torch
from torch import nn

from ftlab.faults.builders.tiny import llama, lora, lora_config


class Named(nn.Module):
    """Holds a model, and hands on what it names."""

    def __init__(self, inner):
        super().__init__()
        self.backbone = inner

    def forward(self, input_ids=None, attention_mask=None, labels=None):
        return self.backbone(
            input_ids=input_ids, attention_mask=attention_mask, labels=labels
        )


class Starred(Named):
    """Hands everything on, and names nothing."""

    def forward(self, *args, **kwargs):
        return self.backbone(*args, **kwargs)


class Delegating(Named):
    """Hands on what is asked of it as well."""

    def forward(self, input_ids=None, attention_mask=None, labels=None, **kwargs):
        return self.backbone(
            input_ids=input_ids, attention_mask=attention_mask, labels=labels, **kwargs
        )

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("backbone"), name)


class Told(Delegating):
    """Says that what it holds is in few bits."""

    @property
    def is_quantized(self):
        return self.backbone.is_quantized

    @property
    def is_loaded_in_4bit(self):
        return self.backbone.is_loaded_in_4bit


def derived(base):
    """Make a model of a class that somebody has derived."""
    return type("Mine", (type(base),), {})(base.config)


def injected():
    """Put adapters into a model without a wrapper around it."""
    from peft import inject_adapter_in_model

    base = llama()
    return inject_adapter_in_model(lora_config(base), base)


def added():
    """Let transformers put the adapters on."""
    base = llama()
    base.add_adapter(lora_config(base))
    return base


def prepared(model):
    """Let accelerate prepare a model."""
    from accelerate import Accelerator

    return Accelerator(cpu=True).prepare(model)


def twice():
    """Hold a PeftModel at three levels."""
    return Named(Named(Named(lora())))


@contextlib.contextmanager
def one_process():
    """Make a process group of one."""
    group, before = torch.distributed, sys.excepthook
    group.init_process_group("gloo", store=group.HashStore(), rank=0, world_size=1)
    try:
        yield
    finally:
        group.destroy_process_group()
        sys.excepthook = before  # torch puts the rank before what is raised


def ddp(model):
    return nn.parallel.DistributedDataParallel(model)


def fsdp(model):
    kind = torch.distributed.fsdp.FullyShardedDataParallel
    return kind(model, use_orig_params=True, device_id=torch.device("cpu"))


def sharded(model):
    for layer in model.model.layers:
        torch.distributed.fsdp.fully_shard(layer)
    return torch.distributed.fsdp.fully_shard(model)


ALONE = {
    "PeftModel": lora,
    "whole": llama,
    "tied": lambda: llama(tie_word_embeddings=True),
    "composition": lambda: Named(lora()),
    "starred": lambda: Starred(lora()),
    "delegating": lambda: Delegating(lora()),
    "composition, tied": lambda: Named(llama(tie_word_embeddings=True)),
    "inheritance": lambda: derived(llama()),
    "PEFT around inheritance": lambda: lora(derived(llama())),
    "inheritance, tied": lambda: derived(llama(tie_word_embeddings=True)),
    "PEFT around composition": lambda: lora(Delegating(llama()), task_type=None),
    "deep nesting": twice,
    "compiled PeftModel": lambda: torch.compile(lora(), backend="eager"),
    "compiled": lambda: torch.compile(llama(), backend="eager"),
    "DataParallel around PEFT": lambda: nn.DataParallel(lora()),
    "DataParallel": lambda: nn.DataParallel(llama()),
    "prepared by accelerate": lambda: prepared(lora()),
    "add_adapter": added,
    "injected": injected,
}

TOGETHER = {
    "DDP around PEFT": lambda: ddp(lora()),
    "DDP": lambda: ddp(llama()),
    "FSDP around PEFT": lambda: fsdp(lora()),
    "fully_shard": lambda: sharded(llama()),
}
"""Those that need a process group."""
