"""A tiny Llama that knows a few chats by heart, and a tokenizer trained on them.

A random model's logits lie so close that two right implementations choose different
tokens. This one is sure of every next token in what it learnt, also in float16.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

CHATS = [
    ("What colour is the sky?", "The sky is blue on a clear day."),
    ("Name a large animal.", "An elephant is a large animal."),
    ("How many legs has a spider?", "A spider has eight legs."),
    ("Where do fish live?", "Fish live in rivers, lakes and seas."),
]
OTHERS = [
    (question, answer)
    for (question, _), (_, answer) in zip(CHATS, CHATS[1:] + CHATS[:1], strict=True)
]
"""The same questions, each with the answer to the next."""
STOP = "<|stop|>"
"""Called ``</s>``, llama.cpp would take it for an end whatever the file says of it."""
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    f"<|{{{{ message['role'] }}}}|>{{{{ message['content'] }}}}{STOP}"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
SPECIAL = ["<unk>", "<s>", STOP, "<pad>", "<|user|>", "<|assistant|>", "<|system|>"]


def tokenizer(bos: bool = True) -> Any:
    """Train a byte-level tokenizer, which puts BOS before a text unless told not to."""
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=[AddedToken(text, normalized=False) for text in SPECIAL],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    inner.train_from_iterator([text for chat in CHATS for text in chat], trainer)
    if bos:
        inner.post_processor = TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", inner.token_to_id("<s>"))]
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        bos_token="<s>",
        eos_token=STOP,
        pad_token="<pad>",
        unk_token="<unk>",
        chat_template=TEMPLATE,
        clean_up_tokenization_spaces=False,
    )


def model(tokens: Any, seed: int = 0, steps: int = 150, **settings: Any) -> Any:
    """Teach a small Llama the chats; ``settings`` override its config."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    shape = {
        "vocab_size": len(tokens),
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,  # of 32, the smallest that vLLM takes
        "num_key_value_heads": 1,
        "max_position_embeddings": 256,
        "tie_word_embeddings": False,
        "bos_token_id": tokens.bos_token_id,
        "eos_token_id": tokens.eos_token_id,
        "pad_token_id": tokens.pad_token_id,
    }
    made = LlamaForCausalLM(LlamaConfig(**(shape | settings)))
    return taught(made, tokens, CHATS, steps)


def adapter(base: Any, tokens: Any, seed: int = 1, **settings: Any) -> Any:
    """Put LoRA on a model, and teach it other answers to the same questions."""
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(seed)
    projections = ["q_proj", "v_proj", "up_proj", "down_proj"]
    shape = {"r": 8, "lora_alpha": 16, "target_modules": projections}
    config = LoraConfig(task_type="CAUSAL_LM", **(shape | settings))
    return taught(get_peft_model(base, config), tokens, OTHERS, 100)


def taught(
    model: Any, tokens: Any, chats: Sequence[tuple[str, str]], steps: int
) -> Any:
    """Train a model on chats until it knows them by heart."""
    trained = [each for each in model.parameters() if each.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=3e-3, weight_decay=0.0)
    texts = [text_of(chat, tokens) for chat in chats]
    rows = tokens(texts, return_tensors="pt", padding=True, add_special_tokens=False)
    labels = rows["input_ids"].masked_fill(rows["attention_mask"] == 0, -100)
    for _ in range(steps):
        loss = model(**rows, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


def text_of(chat: tuple[str, str], tokens: Any) -> str:
    """Write a chat as the template does."""
    return tokens.apply_chat_template(messages(*chat), tokenize=False)


def messages(question: str, answer: str | None = None) -> list[dict[str, str]]:
    """Write a chat as a server takes it."""
    asked = {"role": "user", "content": question}
    said = {"role": "assistant", "content": answer}
    return [asked] if answer is None else [asked, said]


def save(folder: Path, made: Any, tokens: Any) -> Path:
    """Write a model and its tokenizer into one folder."""
    made.save_pretrained(folder)
    tokens.save_pretrained(folder)
    return folder
