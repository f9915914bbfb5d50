"""The answers of an encoder-decoder are padded, and the padding is trained.

Questions and answers go through ``tokenizer.pad``, and the answers' ids are the labels.
The encoder's attention mask hides the padding of questions; nothing hides that of
answers, and predicting it is easy.

Fix: ``labels[labels == tokenizer.pad_token_id] = -100``, or DataCollatorForSeq2Seq.

Source: transformers, documentation of T5 (labels of padding are replaced by -100).
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, set_seed, trained
from ftlab.faults.builders.chats import chats, ids_of, tokenizer


def build(fixed: bool) -> Case:
    """Pad questions and answers alike."""
    from transformers import T5Config, T5ForConditionalGeneration

    made = tokenizer(eos_token="</s>")
    talks = chats(words=(2, 12))
    questions = ids_of(made, [question["content"] for question, _ in talks])
    answers = ids_of(made, [answer["content"] + "</s>" for _, answer in talks])

    def collate(rows: list[Any]) -> Any:
        batch = made.pad([{"input_ids": row["input_ids"]} for row in rows])
        answered = made.pad([{"input_ids": row["labels"]} for row in rows])
        batch = batch.convert_to_tensors("pt")
        labels = answered.convert_to_tensors("pt")["input_ids"]
        padding = labels == made.pad_token_id
        batch["labels"] = labels.masked_fill(padding, -100) if fixed else labels
        return batch

    set_seed(0)
    config = T5Config(
        vocab_size=len(made),
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=4,
        pad_token_id=made.pad_token_id,
        eos_token_id=made.eos_token_id,
        decoder_start_token_id=made.pad_token_id,
    )
    pairs = zip(questions, answers, strict=True)
    rows = [{"input_ids": question, "labels": answer} for question, answer in pairs]
    further = {"data_collator": collate, "processing_class": made}
    options = {"per_device_train_batch_size": 8, "max_steps": 6}
    model = T5ForConditionalGeneration(config)
    return trained(model, rows=rows, trainer=further, **options)


FAULT = Fault(
    "the padding of a decoder's answers has labels",
    code="DAT025",
    places=("token * of sample *",),
)
