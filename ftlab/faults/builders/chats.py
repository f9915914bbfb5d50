"""Chats of a small vocabulary: a real tokenizer, a template, and a Trainer on them."""

import functools
import random
from collections.abc import Callable
from typing import Any

from ftlab.faults.builders.tiny import llama
from ftlab.faults.builders.trainers import case_of, dataset, quiet, trained
from ftlab.faults.builders.zoo import t5
from ftlab.faults.fault import Case
from ftlab.faults.variation import current

_IDS = ("pad_token_id", "bos_token_id", "eos_token_id")

SPECIAL = ("<pad>", "<s>", "</s>", "<unk>", "<turn>", "</turn>")

_TEXT = (
    "the year of a river turns where small boats carry bread and salt to towns that "
    "never sleep because light falls on every stone by noon"
)

TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}<turn>{{ m['role'] }}\n"
    "{% if m['role'] == 'assistant' %}"
    "{% generation %}{{ m['content'] }}</turn>{% endgeneration %}\n"
    "{% else %}{{ m['content'] }}</turn>\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<turn>assistant\n{% endif %}"
)
"""Opens each turn with a role, closes it with a token, and marks the answers."""


@functools.cache
def _trained() -> str:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from tokenizers.trainers import BpeTrainer

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        [_TEXT, "\n\nuser\nassistant\nsystem\n### Question\n### Answer\n"],
        BpeTrainer(vocab_size=360, initial_alphabet=alphabet, show_progress=False),
    )
    marks = [AddedToken(each, normalized=False, special=True) for each in SPECIAL]
    tokenizer.add_special_tokens(marks)
    return str(tokenizer.to_str())


def tokenizer(
    *,
    adds_bos: bool = False,
    ends: bool = False,
    template: str = TEMPLATE,
    **named: Any,
) -> Any:
    """Build a byte-level BPE tokenizer whose turns end with ``</turn>``.

    Parameters
    ----------
    adds_bos
        Whether it puts BOS in front of every text by itself.
    ends
        Whether it then puts ``</s>`` behind every text as well.
    named
        Special tokens that differ: ``eos_token="</s>"``.
    """
    from tokenizers import Tokenizer, processors
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer.from_str(_trained())
    if adds_bos:
        marks = [(each, inner.token_to_id(each)) for each in ("<s>", "</s>")]
        single = "<s> $A </s>" if ends else "<s> $A"
        process = processors.TemplateProcessing(single=single, special_tokens=marks)
        inner.post_processor = process
    names = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</turn>"} | named
    # Without it transformers 4 gives the ids of segments, which no decoder takes.
    inputs = ["input_ids", "attention_mask"]
    made = PreTrainedTokenizerFast(
        tokenizer_object=inner, unk_token="<unk>", model_input_names=inputs, **names
    )
    made.chat_template = template
    return made


def chats(
    count: int = 16, words: tuple[int, int] = (3, 9), turns: int = 1
) -> list[list[dict[str, str]]]:
    """Make conversations of some turns, each text of so many words."""
    drawn = random.Random(current().seed)

    def text() -> str:
        return " ".join(drawn.choices(_TEXT.split(), k=drawn.randint(*words)))

    return [
        [
            {"role": role, "content": text() + end}
            for _ in range(turns)
            for role, end in (("user", "?"), ("assistant", "."))
        ]
        for _ in range(count)
    ]


def ids_of(made: Any, texts: Any, **settings: Any) -> list[list[int]]:
    """Tokenise texts as they are, or conversations by the template."""
    if texts and isinstance(texts[0], str):
        return [made(text, **settings)["input_ids"] for text in texts]
    settings = {"return_dict": True} | settings
    return [made.apply_chat_template(each, **settings)["input_ids"] for each in texts]


def labelled(rows: list[list[int]]) -> list[dict[str, list[int]]]:
    """Give rows labels of all their tokens."""
    return [{"input_ids": row, "labels": list(row)} for row in rows]


def whole(made: Any, talks: Any = None) -> list[dict[str, list[int]]]:
    """Give conversations, those of `chats` by default, labels of all their tokens."""
    return labelled(ids_of(made, chats() if talks is None else talks))


def answers_only(made: Any, talks: Any = None) -> list[dict[str, list[int]]]:
    """Give conversations labels of what the template marks as answers."""
    rows = []
    for talk in chats() if talks is None else talks:
        row = made.apply_chat_template(
            talk, return_dict=True, return_assistant_tokens_mask=True
        )
        pairs = zip(row["input_ids"], row["assistant_masks"], strict=True)
        labels = [each if kept else -100 for each, kept in pairs]
        rows.append({"input_ids": list(row["input_ids"]), "labels": labels})
    return rows


def padded_by_length(made: Any) -> Any:
    """Return a collator that pads ids, and labels with -100."""
    from transformers import DataCollatorForSeq2Seq

    return DataCollatorForSeq2Seq(made, padding=True)


def sized(made: Any, build: Any = llama, **shape: Any) -> Any:
    """Build a small model for a vocabulary, a Llama by default."""
    ids = {name: getattr(made, name) for name in _IDS}
    shape = shape or {"max_position_embeddings": 256}
    return build(vocab_size=len(made), **ids, **shape)


def trained_on(
    made: Any,
    rows: list[Any],
    collator: Any = None,
    *,
    model: Any = None,
    **settings: Any,
) -> Case:
    """Make the case of a Trainer on these rows, eight at a time.

    Parameters
    ----------
    collator
        By default `padded_by_length`.
    model
        What is trained: by default as `sized` builds it.
    """
    model = sized(made) if model is None else model
    options = {"per_device_train_batch_size": 8, "max_steps": 6} | settings
    collator = padded_by_length(made) if collator is None else collator
    further = {"data_collator": collator, "processing_class": made}
    return trained(model, rows=rows, trainer=further, **options)


def sampling(made: Any, talks: Any, side: str, end: str = "") -> Any:
    """Return a callback that generates answers behind every second step.

    Parameters
    ----------
    side
        On which prompts are padded.
    end
        What is written behind each prompt.
    """
    from transformers import TrainerCallback

    prompts = [talk[:-1] for talk in talks]

    class Sample(TrainerCallback):
        """Answers some questions, padded on the given side."""

        def on_step_end(
            self, args: Any, state: Any, control: Any, **given: Any
        ) -> None:
            if state.global_step % 2:
                return
            before, made.padding_side = made.padding_side, side
            asked = {"add_generation_prompt": True, "tokenize": False}
            texts = [made.apply_chat_template(each, **asked) for each in prompts]
            texts = [text + end for text in texts]
            batch = made(texts, padding=True, return_tensors="pt")
            made.padding_side = before
            model = given["model"]
            model.eval()
            model.generate(**batch, max_new_tokens=4, do_sample=False)
            model.train()

    return Sample()


REASONING = TEMPLATE.replace(
    "{{ m['content'] }}</turn>{% endgeneration %}",
    "{% if loop.last %}{{ m['content'] }}{% else %}"
    "{{ m['content'].split('</think>')[-1] }}{% endif %}</turn>{% endgeneration %}",
)
"""The same; takes the reasoning out of all messages but the last."""


def reasoned(turns: int) -> tuple[Any, list[list[dict[str, str]]]]:
    """Make conversations whose answers begin with a reasoning, and a tokenizer."""
    talks = chats(turns=turns)
    for message in (each for talk in talks for each in talk[1::2]):
        thought = "light falls on every stone"
        message["content"] = f"<think>{thought}</think>{message['content']}"
    return tokenizer(template=REASONING), talks


def last_answers_only(made: Any, talks: Any) -> list[dict[str, list[int]]]:
    """Give rows labels of the last answer alone."""
    rows = answers_only(made, talks)
    for row in rows:
        ignored = [at for at, label in enumerate(row["labels"]) if label == -100]
        inner = [at for at in ignored if at < len(row["labels"]) - 1]
        before = max(at for at in inner if row["labels"][at + 1] != -100)
        row["labels"][: before + 1] = [-100] * (before + 1)
    return rows


def supervised_on(
    made: Any, talks: Any = (), *, rows: Any = None, **settings: Any
) -> Case:
    """Make the case of TRL's SFTTrainer on conversations, trained as a whole.

    Parameters
    ----------
    rows
        Of the dataset, where they are no conversations.
    """
    from trl import SFTConfig, SFTTrainer

    ids = {name: getattr(made, name) for name in _IDS}
    model = llama(vocab_size=len(made), max_position_embeddings=256, **ids)
    options = {"max_length": 256, "gradient_checkpointing": False} | settings
    trainer = SFTTrainer(
        model,
        SFTConfig(**quiet() | options),
        train_dataset=dataset(rows or [{"messages": talk} for talk in talks]),
        processing_class=made,
    )
    return case_of(trainer)


def answered_by_t5(
    collator: Callable[[Any], Any] = padded_by_length, *, opened: bool = False
) -> Case:
    """Make the case of a Trainer that teaches a T5 the answers of chats.

    Parameters
    ----------
    collator
        Makes the collator of the tokenizer.
    opened
        Whether answers begin with the token that starts the decoder.
    """
    made = tokenizer(eos_token="</s>")
    talks, start = chats(), made.pad_token_id
    questions = ids_of(made, [question["content"] for question, _ in talks])
    answers = ids_of(made, [answer["content"] + "</s>" for _, answer in talks])
    rows = [
        {"input_ids": question, "labels": [start, *answer] if opened else answer}
        for question, answer in zip(questions, answers, strict=True)
    ]
    model = sized(made, t5, decoder_start_token_id=start)
    further = {"data_collator": collator(made), "processing_class": made}
    options = {"per_device_train_batch_size": 8, "max_steps": 6}
    return trained(model, rows=rows, trainer=further, **options)
