"""A BART whose answers begin with BOS, which is not the start of its decoder.

That is EOS, as for mBART and M2M100, whose answers begin with a language code.
"""

from typing import Any

from ftlab.faults.builders import Case, Healthy, set_seed, trained
from ftlab.faults.builders.chats import (
    chats,
    ids_of,
    padded_by_length,
    sized,
    tokenizer,
)


def _bart(**settings: Any) -> Any:
    from transformers import BartConfig, BartForConditionalGeneration

    set_seed(0)
    shape = {"d_model": 32, "encoder_layers": 1, "decoder_layers": 1}
    heads = {"encoder_attention_heads": 4, "decoder_attention_heads": 4}
    wide = {"encoder_ffn_dim": 64, "decoder_ffn_dim": 64}
    config = BartConfig(**(shape | heads | wide | settings))
    return BartForConditionalGeneration(config)


def build() -> Case:
    """Begin each answer with BOS, and start the decoder with EOS."""
    made = tokenizer(eos_token="</s>", adds_bos=True)
    talks = chats()
    questions = ids_of(made, [question["content"] for question, _ in talks])
    answers = ids_of(made, [answer["content"] + "</s>" for _, answer in talks])
    pairs = zip(questions, answers, strict=True)
    rows = [{"input_ids": question, "labels": answer} for question, answer in pairs]
    start = made.eos_token_id
    model = sized(made, _bart, decoder_start_token_id=start, max_position_embeddings=64)
    further = {"data_collator": padded_by_length(made), "processing_class": made}
    options = {"per_device_train_batch_size": 8, "max_steps": 6}
    return trained(model, rows=rows, trainer=further, **options)


HEALTHY = Healthy(
    "labels begin with a special token, and the decoder puts one in front",
    looks_like=("DAT015",),
    steps=6,
)
