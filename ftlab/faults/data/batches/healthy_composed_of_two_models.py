"""An EncoderDecoderModel of two BERTs, on labels as their tokenizer writes them.

They begin with the token that starts the decoder, as in transformers' own example.
"""

from ftlab.faults.builders import Case, Healthy, set_seed, sizes, trained
from ftlab.faults.builders.chats import chats, ids_of, padded_by_length, tokenizer


def build() -> Case:
    """Start the decoder with BOS, and begin each answer with it."""
    from transformers import BertConfig, EncoderDecoderConfig, EncoderDecoderModel

    made = tokenizer(adds_bos=True, eos_token="</s>")
    talks = chats()
    questions = ids_of(made, [question["content"] for question, _ in talks])
    answers = ids_of(made, [answer["content"] + "</s>" for _, answer in talks])
    rows = [
        {"input_ids": question, "labels": answer}
        for question, answer in zip(questions, answers, strict=True)
    ]
    set_seed(0)
    part = BertConfig(**(sizes() | {"vocab_size": len(made)}))
    config = EncoderDecoderConfig.from_encoder_decoder_configs(part, part)
    config.decoder_start_token_id = made.bos_token_id
    config.pad_token_id = made.pad_token_id
    further = {"data_collator": padded_by_length(made), "processing_class": made}
    options = {"per_device_train_batch_size": 8, "max_steps": 6}
    return trained(EncoderDecoderModel(config), rows=rows, trainer=further, **options)


HEALTHY = Healthy(
    "answers begin with the token that starts the decoder, as documented",
    looks_like=("DAT015",),
    steps=6,
)
