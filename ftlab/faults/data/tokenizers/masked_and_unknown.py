"""A masked language model is trained on texts that its vocabulary does not know.

The vocabulary was made of English words. Of each word in another script one unknown
token is left, which the model reads, and learns to write where it is masked.

Fix: a vocabulary of all texts, or a byte-level tokenizer.

Source: transformers, ``BertTokenizer`` (``unk_token``).
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, roberta
from ftlab.faults.builders.chats import chats, trained_on

_OTHER = str.maketrans("aeioutnsr", "αειουτνσρ")
"""Letters of another script in place of some of this one."""

_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def pieces_of(texts: list[str]) -> Any:
    """Train a WordPiece tokenizer that puts each text between two marks."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from tokenizers.trainers import WordPieceTrainer
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    inner.train_from_iterator(
        texts,
        WordPieceTrainer(
            vocab_size=200, special_tokens=list(_SPECIAL), show_progress=False
        ),
    )
    inner.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        model_input_names=["input_ids", "attention_mask"],
        **dict(zip(names, _SPECIAL, strict=True)),
    )


def build(fixed: bool) -> Case:
    """Mask words of texts of which half are in a script that is not known."""
    from transformers import DataCollatorForLanguageModeling

    english = [f"{q['content']} {a['content']}" for q, a in chats(16, words=(9, 16))]
    other = [text.translate(_OTHER) for text in english]
    texts = [pair[n % 2] for n, pair in enumerate(zip(english, other, strict=True))]
    made = pieces_of(english + other if fixed else english)
    rows = [{"input_ids": made(text)["input_ids"]} for text in texts]
    return trained_on(
        made, rows, DataCollatorForLanguageModeling(made), model=reader_of(made)
    )


def reader_of(made: Any) -> Any:
    """Build a RoBERTa for the vocabulary of `pieces_of`."""
    ids = {"bos_token_id": made.cls_token_id, "eos_token_id": made.sep_token_id}
    shape = {"vocab_size": len(made), "max_position_embeddings": 256}
    return roberta(kind="MaskedLM", **shape, **ids)


FAULT = Fault(
    "half of the texts are unknown tokens beside the masked ones",
    code="DAT009",
    places=("token * of sample *",),
)
