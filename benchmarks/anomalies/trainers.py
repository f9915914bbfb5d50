"""Unmodified trainers of transformers and TRL, led astray by data or configuration."""

import tempfile
from typing import Any

import torch

from benchmarks.anomalies import tiny
from benchmarks.anomalies.case import Line, Live, plant
from benchmarks.anomalies.models import LLAMA, LOSS, norm_line

SMOOTHED = Line(
    "transformers/trainer_pt_utils.py", "nll_loss = nll_loss.sum() / denominator"
)
DPO = "trl/trainer/dpo_trainer.py"


def arguments(seed: int, **overrides: Any) -> dict[str, Any]:
    """Return what every trainer here is configured with: rows in their order."""
    return {
        "output_dir": tempfile.mkdtemp(),
        "use_cpu": True,
        "bf16": False,
        "report_to": [],
        "max_steps": 3,
        "per_device_train_batch_size": 2,
        "learning_rate": 1e-4,
        "lr_scheduler_type": "constant",
        "gradient_checkpointing": False,
        "logging_steps": 1,
        "save_strategy": "no",
        "disable_tqdm": True,
        "seed": seed,
        "train_sampling_strategy": "sequential",
    } | overrides


def trainer(model: Any, rows: Any, seed: int, **overrides: Any) -> Live:
    """Build a plain Trainer."""
    from transformers import Trainer, TrainingArguments

    options = TrainingArguments(**arguments(seed, **overrides))
    built = Trainer(model=model, args=options, train_dataset=rows)
    return Live(model, trainer=built)


def tokenizer() -> Any:
    """Build a tokenizer whose words are ``t0`` to ``t63``."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {f"t{i}": i for i in range(tiny.VOCABULARY)}
    fast = Tokenizer(models.WordLevel(words, "t3"))
    fast.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=fast, eos_token="t2", pad_token="t0"
    )


def words(*ids: int) -> str:
    """Write tokens as text."""
    return "".join(f"t{i} " for i in ids)


def sft(model: Any, samples: list[dict[str, Any]], seed: int, **overrides: Any) -> Live:
    """Build TRL's trainer for supervised fine-tuning."""
    import trl
    from datasets import Dataset

    options = trl.SFTConfig(**arguments(seed, **({"max_length": 8} | overrides)))
    built = trl.SFTTrainer(
        model=model,
        args=options,
        train_dataset=Dataset.from_list(samples),
        processing_class=tokenizer(),
    )
    return Live(model, trainer=built)


def dpo(seed: int, base: Any, reference: Any, **overrides: Any) -> Live:
    """Build TRL's trainer for direct preference optimisation."""
    import trl
    from datasets import Dataset

    pairs = [
        {
            "prompt": words(5 + i, 6, 7),
            "chosen": words(10, 11 + i),
            "rejected": words(20 + i, 21),
        }
        for i in range(6)
    ]
    built = trl.DPOTrainer(
        model=base,
        ref_model=reference,
        args=trl.DPOConfig(**arguments(seed, **overrides)),
        train_dataset=Dataset.from_list(pairs),
        processing_class=tokenizer(),
    )
    return Live(base, trainer=built)


@plant("aten.div.Tensor", line=SMOOTHED, step=1, uses="trainer")
def smoothed_loss_of_no_labels(seed: int, healthy: bool) -> Live:
    """Smooth labels in a Trainer where a step has none."""
    rows = tiny.rows(tiny.text(seed))
    for row in () if healthy else rows[2:4]:
        row["labels"][:] = -100
    return trainer(tiny.llama(seed), rows, seed, label_smoothing_factor=0.1)


@plant(
    "aten.div.Tensor",
    module="base_model.model",
    line=Line(LOSS, "loss = loss / num_items_in_batch"),
    step=1,
    uses="trainer accumulation lora dropout",
)
def no_labels_in_all_micro_batches(seed: int, healthy: bool) -> Live:
    """Give a Trainer two micro-batches without labels, by whose number it divides."""
    rows = tiny.rows(tiny.text(seed, 6))
    for row in () if healthy else rows[4:8]:
        row["labels"][:] = -100
    model = tiny.lora(tiny.llama(seed), lora_dropout=0.2)
    return trainer(model, rows, seed, gradient_accumulation_steps=2)


@plant(
    "aten.mse_loss.default",
    module="MSELoss",  # transformers makes one on the spot
    kind="batch",
    name="labels",
    line=Line(
        "transformers/models/bert/modeling_bert.py",
        "loss = loss_fct(logits.squeeze(), labels.squeeze())",
    ),
    step=1,
    micro_batch=1,
    uses="trainer accumulation dropout",
)
def nan_target_under_a_trainer(seed: int, healthy: bool) -> Live:
    """Give a Trainer a NaN target in the second micro-batch of the second step."""
    rows = tiny.rows(tiny.text(seed, 6))
    for index, row in enumerate(rows):
        row["labels"] = torch.tensor(0.1 * index)
    if not healthy:
        rows[7]["labels"] = torch.tensor(float("nan"))
    return trainer(tiny.bert(seed), rows, seed, gradient_accumulation_steps=2)


@plant(
    "aten.rsqrt.default",
    module="model.layers.0.input_layernorm",
    line=Line(LLAMA, norm_line()),
    step=2,
    uses="trainer autocast-bf16 checkpoint eager-attention",
)
def zero_embedding_under_a_trainer(seed: int, healthy: bool) -> Live:
    """Train in bfloat16 with checkpoints, an epsilon of 0 and a zero embedding."""
    epsilon = 1e-6 if healthy else 0.0
    model = tiny.llama(seed, rms_norm_eps=epsilon, attn_implementation="eager")
    tiny.write(model.model.embed_tokens.weight, 0.0, tiny.RARE)
    rows = tiny.rows(tiny.text(seed))
    rows[5]["input_ids"][3] = tiny.RARE
    return trainer(model, rows, seed, bf16=True, gradient_checkpointing=True)


@plant(
    "aten.embedding.default",
    module="base_model.model.model.embed_tokens",
    kind="parameter",
    name="base_model.model.model.embed_tokens.weight",
    line=Line(LLAMA, "inputs_embeds: torch.Tensor = self.embed_tokens(input_ids)"),
    step=1,
    micro_batch=1,
    uses="trainer sft lora accumulation",
)
def broken_token_under_sft(seed: int, healthy: bool) -> Live:
    """Fine-tune with SFTTrainer on a text with a token whose embedding is NaN."""
    base = tiny.llama(seed)
    tiny.write(base.model.embed_tokens.weight, float("nan"), tiny.RARE)
    samples = [{"input_ids": row["input_ids"].tolist()} for row in _rows(seed, 6)]
    if not healthy:
        samples[6]["input_ids"][2] = tiny.RARE
    return sft(tiny.lora(base), samples, seed, gradient_accumulation_steps=2)


@plant(
    "aten.pow.Tensor_Scalar",
    phase="backward",
    module="model.layers.1.self_attn.q_norm",
    line=Line("transformers/models/qwen3/modeling_qwen3.py", norm_line()),
    forward="aten.rsqrt.default",
    uses="trainer sft checkpoint",
)
def dead_queries_under_sft(seed: int, healthy: bool) -> Live:
    """Fine-tune a Qwen3 with dead queries and an epsilon of 1e-30 with SFTTrainer."""
    model = tiny.causal("Qwen3", seed, rms_norm_eps=1e-6 if healthy else 1e-30)
    tiny.write(model.model.layers[1].self_attn.q_proj.weight, 0.0)
    samples = [
        {"prompt": words(*range(5, 9)), "completion": words(20 + i, 21)}
        for i in range(6)
    ]
    return sft(model, samples, seed, gradient_checkpointing=True)


@plant(
    "aten.log1p.default",
    line=Line(DPO, "log_pw = torch.log1p(-epsilon)"),
    uses="trainer dpo",
)
def certain_preference(seed: int, healthy: bool) -> Live:
    """Configure DPO's EXO loss with a label smoothing of 1: log(1 - 1)."""
    smoothing = 0.1 if healthy else 1.0
    return dpo(
        seed,
        tiny.llama(seed),
        tiny.llama(seed + 1),
        loss_type=["exo_pair"],
        label_smoothing=smoothing,
    )


@plant(
    "aten.div.Tensor",
    line=Line(
        DPO,
        "per_sequence_loss = "
        "(clean_loss_term - flipped_loss_term) / (1 - 2 * self.label_smoothing)",
    ),
    uses="trainer dpo lora accumulation",
)
def random_preference(seed: int, healthy: bool) -> Live:
    """Configure DPO's robust loss for labels that are right half of the time."""
    smoothing = 0.1 if healthy else 0.5
    return dpo(
        seed,
        tiny.lora(tiny.llama(seed)),
        None,
        loss_type=["robust"],
        label_smoothing=smoothing,
        gradient_accumulation_steps=2,
        max_steps=1,
    )


@plant(
    "aten.exp.default",
    line=Line(DPO, "chosen_scores = 1 - torch.exp(-chosen_logratios)"),
    uses="trainer dpo",
)
def divergence_of_strangers(seed: int, healthy: bool) -> Live:
    """Measure DPO's forward divergence from a reference that is far away.

    The policy's logits are a thousand times larger, so the chosen text is e^-100 as
    likely as for the reference.
    """
    policy = tiny.llama(seed)
    if not healthy:
        tiny.grow(policy.lm_head.weight, 1e4)
    return dpo(seed, policy, tiny.llama(seed + 1), f_divergence_type="forward_kl")


def _rows(seed: int, count: int) -> list[Any]:
    return tiny.rows(tiny.text(seed, count))
