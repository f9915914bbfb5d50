"""A folder as transformers 4 wrote it: each token in three files, and more rows."""

from pathlib import Path

from ftlab.faults.builders.chats import TEMPLATE, sized, tokenizer
from ftlab.faults.builders.tokenizer_folders import CONFIG, MAP, change, loaded, looped
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Say everything twice, and the same."""
    made = tokenizer()
    added = {
        str(at): {"content": str(token), "special": True, "normalized": False}
        for at, token in made.added_tokens_decoder.items()
    }
    stops = [made.eos_token_id, made.convert_tokens_to_ids("</s>")]

    def edit(folder: Path) -> None:
        change(folder / CONFIG, added_tokens_decoder=added, chat_template=TEMPLATE)
        (folder / "chat_template.jinja").write_text(f"{TEMPLATE}\n", encoding="utf-8")
        change(folder / MAP, eos_token={"content": "</turn>"}, bos_token="<s>")
        change(folder / "config.json", vocab_size=512)
        change(folder / "generation_config.json", eos_token_id=stops)

    loaded_one = loaded(made, edit)
    model = sized(loaded_one)
    model.resize_token_embeddings(512, mean_resizing=False)
    return looped(loaded_one, model)


HEALTHY = Healthy(
    "three files name the special tokens, and the model has more rows than ids",
    looks_like=("DAT073",),
    steps=8,
)
