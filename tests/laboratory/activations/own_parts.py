"""A user's own parts in models of transformers, each right until a fault is named."""

import torch
from torch import nn
from torch.nn import functional
from transformers.models.gemma.modeling_gemma import GemmaRMSNorm
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaDecoderLayer


def rotate_half(x):
    first, second = x.chunk(2, -1)
    return torch.cat((-second, first), -1)


def rotate_neighbours(x):
    return torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)


class Attention(LlamaAttention):
    """Written out, as a tutorial has it."""

    fault = ""

    def forward(self, hidden_states, position_embeddings, attention_mask=None, **_):
        rows, length, _ = hidden_states.shape
        q, k, v = (
            each(hidden_states).view(rows, length, -1, self.head_dim).transpose(1, 2)
            for each in (self.q_proj, self.k_proj, self.v_proj)
        )
        q, k = self.rotated(q, k, *position_embeddings)
        times = q.shape[1] // k.shape[1]
        if self.fault == "heads":
            k, v = k.repeat(1, times, 1, 1), v.repeat(1, times, 1, 1)
        else:
            k, v = k.repeat_interleave(times, 1), v.repeat_interleave(times, 1)
        width = self.head_dim
        scale = {"unscaled": 1.0, "squared": 1 / width}.get(self.fault, width**-0.5)
        scores = q @ k.transpose(-1, -2) * scale
        if self.fault != "mask":
            later = torch.ones(length, length).triu(1).bool()
            scores = scores.masked_fill(later, float("-inf"))
            if attention_mask is not None:
                seen = attention_mask[:, :, :, :length]
                seen = seen if seen.dtype == torch.bool else seen == 0
                scores = scores.masked_fill(~seen, torch.finfo(scores.dtype).min)
        over = -2 if self.fault == "softmax" else -1
        out = (scores.softmax(over).to(v.dtype) @ v).transpose(1, 2)
        return self.o_proj(out.reshape(rows, length, -1)), None

    def rotated(self, q, k, cos, sin):
        cos, sin = cos[:, None], sin[:, None]
        later = [torch.cat((e[:, :, 1:], e[:, :, -1:]), 2) for e in (cos, sin)]
        half = self.head_dim // 2
        if self.fault == "rotation":
            turn = rotate_neighbours
        elif self.fault == "pairs":
            cos, sin = (e[..., :half].repeat_interleave(2, -1) for e in (cos, sin))
            turn = rotate_neighbours
        else:
            turn = rotate_half
        if self.fault == "queries alone":
            return q * cos + turn(q) * sin, k
        if self.fault == "unrotated":
            return q, k
        keys = later if self.fault == "offset" else (cos, sin)
        sign = -1 if self.fault == "sign" else 1
        return q * cos + turn(q) * sin, k * keys[0] + sign * turn(k) * keys[1]


class MLP(nn.Module):
    """No class of the library, the same names."""

    def __init__(self, like, fault=""):
        super().__init__()
        self.gate_proj, self.up_proj = like.gate_proj, like.up_proj
        self.down_proj, self.act_fn, self.fault = like.down_proj, nn.SiLU(), fault

    def forward(self, x):
        gate, up = self.gate_proj(x), self.up_proj(x)
        return self.down_proj(
            {
                "order": lambda: gate * functional.silu(up),
                "activation": lambda: functional.gelu(gate) * up,
                "linear": lambda: gate * up,
                "sum": lambda: functional.silu(gate) + up,
                "around": lambda: functional.silu(gate * up),
                "": lambda: functional.silu(gate) * up,
            }[self.fault]()
        )


class Norm(nn.Module):
    def __init__(self, like, fault=""):
        super().__init__()
        self.weight, self.fault = like.weight, fault

    def forward(self, x):
        square = x.square().mean(-1, keepdim=True)
        eps = 1e-2 if self.fault == "eps" else 1e-6
        plain = x * (square + eps).rsqrt()
        return {
            "offset": lambda: plain * (1 + self.weight),
            "no weight": lambda: plain,
            "no root": lambda: self.weight * x / (square + 1e-6),
            "mean": lambda: (
                self.weight * functional.layer_norm(x, x.shape[-1:], eps=1e-6)
            ),
            "sum": lambda: (
                self.weight * x / (x.square().sum(-1, keepdim=True) + 1e-6).sqrt()
            ),
        }.get(self.fault, lambda: self.weight * plain)()


class OtherNorm(nn.Module):
    """Right, with a name of its own for the weight."""

    def __init__(self, like):
        super().__init__()
        self.scale = like.weight

    def forward(self, x):
        return self.scale * x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt()


class OtherMLP(nn.Module):
    """Right, with other names for the projections."""

    def __init__(self, like, names):
        super().__init__()
        self.names = names
        layers = (like.gate_proj, like.up_proj, like.down_proj)
        for name, layer in zip(names, layers, strict=True):
            self.add_module(name, layer)

    def forward(self, x):
        gate, up, down = (getattr(self, name) for name in self.names)
        return down(functional.silu(gate(x)) * up(x))


class GemmaNorm(GemmaRMSNorm):
    def forward(self, x):
        return self._norm(x.float()).type_as(x) * self.weight


class Rotary(nn.Module):
    def __init__(self, like, fault=""):
        super().__init__()
        self.fault, width = fault, 2 * len(like.inv_freq)
        base = {"base": 500.0}.get(fault, 10000.0)
        self.inv_freq = base ** -(torch.arange(0, width, 2).float() / width)

    def forward(self, x, position_ids):
        shift = 1 if self.fault == "offset" else 0
        angles = (position_ids[..., None] + shift) * self.inv_freq
        if self.fault == "pairs":
            angles = angles.repeat_interleave(2, -1)
        else:
            angles = torch.cat((angles, angles), -1)
        scale = 0.5 if self.fault == "scale" else 1.0
        return (scale * angles.cos()).to(x.dtype), (scale * angles.sin()).to(x.dtype)


class Block(LlamaDecoderLayer):
    fault = ""

    def forward(self, hidden_states, **named):
        rest = hidden_states
        seen = self.input_layernorm(hidden_states)
        if self.fault == "first norm":
            seen = hidden_states
        hidden_states = rest + self.self_attn(hidden_states=seen, **named)[0]
        rest = hidden_states
        if self.fault != "norm":
            hidden_states = self.post_attention_layernorm(hidden_states)
        return rest + self.mlp(hidden_states)


class Lora(nn.Module):
    """LoRA as a tutorial has it."""

    def __init__(self, base, rank=4, alpha=8, fault=""):
        super().__init__()
        self.base, self.alpha, self.rank, self.fault = base, alpha, rank, fault
        self.lora_A = nn.Linear(base.in_features, rank, bias=False)
        self.lora_B = nn.Linear(rank, base.out_features, bias=False)
        if fault != "random start":
            nn.init.zeros_(self.lora_B.weight)
        if fault == "both zero":
            nn.init.zeros_(self.lora_A.weight)
        if fault in ("scale", "trained"):
            nn.init.normal_(self.lora_B.weight)

    def forward(self, x):
        scale = self.alpha if self.fault == "scale" else self.alpha / self.rank
        return self.base(x) + scale * self.lora_B(self.lora_A(x))
