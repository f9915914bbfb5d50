"""A vocabulary without bytes to fall back on, as older tokenizers have one."""

from typing import Any


def words_of(texts: list[str]) -> Any:
    """Train a tokenizer of letters and frequent pieces, without bytes."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from tokenizers.trainers import BpeTrainer
    from transformers import PreTrainedTokenizerFast

    special = ["<pad>", "<s>", "</s>", "<unk>"]
    inner = Tokenizer(models.BPE(unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = BpeTrainer(
        vocab_size=200, special_tokens=special, show_progress=False, min_frequency=2
    )
    inner.train_from_iterator(texts, trainer)
    names = ("pad_token", "bos_token", "eos_token", "unk_token")
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        model_input_names=["input_ids", "attention_mask"],
        **dict(zip(names, special, strict=True)),
    )
