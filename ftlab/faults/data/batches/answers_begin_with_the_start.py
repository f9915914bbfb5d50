"""The answers of an encoder-decoder begin with the token that starts its decoder.

Somebody writes it in front of each answer, as one does for a decoder alone. The model
does so itself: the decoder sees two, and learns to answer the first with the second.

Fix: labels that begin with the answer.

Source: huggingface/transformers#7077.
"""

from ftlab.faults.builders.chats import (
    chats,
    ids_of,
    padded_by_length,
    sized,
    tokenizer,
)
from ftlab.faults.builders.trainers import trained
from ftlab.faults.builders.zoo import t5
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Begin each answer with the start token."""
    made = tokenizer(eos_token="</s>")
    talks = chats()
    questions = ids_of(made, [question["content"] for question, _ in talks])
    answers = ids_of(made, [answer["content"] + "</s>" for _, answer in talks])
    start = made.pad_token_id
    rows = [
        {"input_ids": question, "labels": answer if fixed else [start, *answer]}
        for question, answer in zip(questions, answers, strict=True)
    ]
    model = sized(made, t5, decoder_start_token_id=start)
    further = {"data_collator": padded_by_length(made), "processing_class": made}
    options = {"per_device_train_batch_size": 8, "max_steps": 6}
    return trained(model, rows=rows, trainer=further, **options)


FAULT = Fault(
    "answers-begin-with-the-start",
    "each generated answer begins with a start token",
    code="DAT015",
    places=("token 0 of sample *",),
)
