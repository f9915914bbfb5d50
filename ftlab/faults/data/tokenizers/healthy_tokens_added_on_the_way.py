"""Tokens are added between two stages, and saved in the folder of the first one."""

from ftlab.faults.builders.chats import sized, tokenizer
from ftlab.faults.builders.tokenizer_folders import between, folder_of, loaded, looped
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Begin a second stage with a new token, for which the model has a row."""
    made = loaded(tokenizer())
    model = sized(made)
    model.resize_token_embeddings(512, mean_resizing=False)

    def grow() -> None:
        made.add_tokens(["<call>"])
        made.save_pretrained(folder_of(made))

    return between(looped(made, model), 3, grow)


HEALTHY = Healthy(
    "the vocabulary grows, and the files change with it",
    looks_like=("DAT070", "DAT073"),
    steps=20,
)
