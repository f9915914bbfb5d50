"""Small language models as people write them, right in each of their ways."""

import torch
from torch import nn
from torch.nn import functional


class ScaleNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.g = nn.Parameter(torch.tensor(width**0.5))

    def forward(self, x):
        return self.g * x / x.norm(dim=-1, keepdim=True).clamp(min=1e-5)


class NoNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width))
        self.bias = nn.Parameter(torch.rand(width))

    def forward(self, x):
        return x * self.weight + self.bias


class L2Norm(nn.Module):
    def __init__(self, width):
        super().__init__()

    def forward(self, x):
        return functional.normalize(x, dim=-1)


class OffsetRMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width))

    def forward(self, x):
        normed = functional.rms_norm(x.float(), x.shape[-1:], eps=1.2e-7)
        return (normed * (1 + self.weight)).type_as(x)


class LayerNormNoBias(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.rand(width)), None

    def forward(self, x):
        return functional.layer_norm(x, self.weight.shape, self.weight, None, 1e-5)


class HalfRotary(nn.Module):
    """Gives each angle once."""

    def __init__(self, width):
        super().__init__()
        self.speeds = 1e4 ** -(torch.arange(0, width, 2) / width)

    def forward(self, x):
        angles = torch.arange(x.shape[2])[:, None] * self.speeds
        return angles.cos().to(x.dtype), angles.sin().to(x.dtype)


class RotaryOfBoth(nn.Module):
    """Gives queries and keys, rotated."""

    def __init__(self, width):
        super().__init__()
        self.rotary = HalfRotary(width)

    def forward(self, q, k):
        cos, sin = self.rotary(q)

        def rotated(x):
            a, b = x.chunk(2, -1)
            return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)

        return rotated(q), rotated(k)


class SelfAttention(nn.Module):
    def __init__(self, width, kind):
        super().__init__()
        self.q_proj, self.k_proj = nn.Linear(width, width), nn.Linear(width, width // 2)
        self.v_proj, self.o_proj = nn.Linear(width, width // 2), nn.Linear(width, width)
        self.rotary, self.kind = RotaryOfBoth(width // 4), kind

    def forward(self, x):
        rows, length, width = x.shape
        q, k, v = (
            each(x).view(rows, length, -1, width // 4).transpose(1, 2)
            for each in (self.q_proj, self.k_proj, self.v_proj)
        )
        q, k = self.rotary(q, k)
        sdpa = functional.scaled_dot_product_attention
        if self.kind == "flash":
            out = sdpa(q, k, v, is_causal=True, enable_gqa=True)
        elif self.kind == "normed":
            q, k = functional.normalize(q, dim=-1), functional.normalize(k, dim=-1)
            out = sdpa(q, k, v, is_causal=True, enable_gqa=True, scale=10.0)
        else:
            k, v = k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)
            scores = torch.einsum("bhqd,bhkd->bhqk", q, k) * q.size(-1) ** -0.5
            at = torch.arange(length)
            if self.kind == "alibi":
                scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
                scores = scores - ((at[:, None] - at) * 0.1).to(scores.dtype)
            if self.kind == "capped":
                scores = 50 * torch.tanh(scores / 50)
            scores = scores.masked_fill(at > at[:, None], float("-inf"))
            out = scores.softmax(-1) @ v
        return self.o_proj(out.transpose(1, 2).reshape(rows, length, width))


class SwiGLU(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.w1, self.w3 = nn.Linear(width, 2 * width), nn.Linear(width, 2 * width)
        self.w2 = nn.Linear(2 * width, width)

    def forward(self, x):
        return self.w2(functional.silu(self.w1(x)) * self.w3(x))


class GLU(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gate, self.up = nn.Linear(width, 2 * width), nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return self.down(torch.sigmoid(self.gate(x)) * self.up(x))


class ExpertMLP(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gate = nn.Linear(width, 4)
        self.experts = nn.ModuleList(SwiGLU(width) for _ in range(4))

    def forward(self, x):
        weights, chosen = self.gate(x).softmax(-1).topk(2)
        return sum(
            ((chosen == at).to(x.dtype) * weights).sum(-1, keepdim=True) * expert(x)
            for at, expert in enumerate(self.experts)
        )


class SquaredMLP(nn.Module):
    """Adds nothing at the start."""

    def __init__(self, width):
        super().__init__()
        self.c_fc, self.c_proj = (
            nn.Linear(width, 4 * width),
            nn.Linear(4 * width, width),
        )
        nn.init.zeros_(self.c_proj.weight)

    def forward(self, x):
        return self.c_proj(functional.relu(self.c_fc(x)).square())


class Block(nn.Module):
    def __init__(self, width, norm, kind, mlp):
        super().__init__()
        self.ln_1, self.ln_2 = norm(width), norm(width)
        self.attn, self.mlp = SelfAttention(width, kind), mlp(width)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class LanguageModel(nn.Module):
    def __init__(self, norm=nn.LayerNorm, kind="flash", mlp=SwiGLU, width=64):
        super().__init__()
        torch.manual_seed(0)
        self.wte, self.ln_f = nn.Embedding(64, width), norm(width)
        self.h = nn.ModuleList(Block(width, norm, kind, mlp) for _ in range(2))
        self.lm_head = nn.Linear(width, 64, bias=False)
        for each in self.parameters():
            if each.dim() == 2 and each.any():
                nn.init.normal_(each, std=0.02)

    def forward(self, input_ids, attention_mask=None, labels=None):
        x = self.wte(input_ids)
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


NORMS = (ScaleNorm, NoNorm, L2Norm, OffsetRMSNorm, LayerNormNoBias, nn.RMSNorm)
MODELS = {
    **{each.__name__: {"norm": each} for each in NORMS},
    **{kind: {"kind": kind} for kind in ("flash", "normed", "alibi", "capped")},
    **{each.__name__: {"mlp": each} for each in (GLU, ExpertMLP, SquaredMLP)},
}
