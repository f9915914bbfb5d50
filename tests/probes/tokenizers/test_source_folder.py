"""The folder of a live run's tokenizer: how it was, and what changes in it."""

import pytest
import torch
from tokenizers import AddedToken, Tokenizer
from transformers import AutoTokenizer

from ftlab.probes.tokenizers.source_folder import SourceFolder
from ftlab.records.event import Event
from ftlab.records.folder_news import FolderNews
from tests.probes.recording import Recording
from tests.probes.tokens.vocabularies import BRACKETS, byte_level
from tests.session.tokenizer_folders import CONFIG, MAP, edit, model


@pytest.fixture
def folder(tmp_path):
    byte_level().save_pretrained(tmp_path / "base")
    model(len(byte_level())).save_pretrained(tmp_path / "base")
    return tmp_path / "base"


def nothing(tokenizer):
    """Leave it as it is."""


def told(folder, change=nothing, before=nothing):
    """Load, train four steps with a change before the third."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    trained = model(len(tokenizer))
    before(tokenizer)
    optimizer = torch.optim.SGD(trained.parameters(), lr=0.1)
    settings = {"probes": [SourceFolder(1)], "tokenizer": tokenizer}
    with Recording(trained, optimizer, **settings) as recording:
        for step in range(4):
            if step == 2:
                change(tokenizer)
            ids = torch.tensor([[5, 6, 7]])
            trained(input_ids=ids, labels=ids).loss.backward()
            optimizer.step()
    events = [each for each in recording.records if isinstance(each, Event)]
    assert {each.kind for each in events} == {"tokenizer-files"}
    return [(each.step, FolderNews.from_json(each.detail)) for each in events]


def unlike(news):
    return [each.subject for each in news.agreements if each.status != "agrees"]


def test_files_are_compared_once_and_a_folder_that_rests_is_not_told_again(folder):
    ((step, news),) = told(folder)
    assert (step, news.matter, news.folder) == (0, "read", "base")
    assert len(news.agreements) == 9
    assert unlike(news) == []


def test_a_disagreement_is_told_with_the_first_step(folder):
    edit(folder / CONFIG, chat_template=BRACKETS)
    ((_, news),) = told(folder)
    assert unlike(news) == ["chat template"]


def test_what_the_user_has_set_after_loading_is_no_disagreement(folder):
    edit(folder / CONFIG, chat_template=BRACKETS)

    def mend(tokenizer):
        tokenizer.chat_template = BRACKETS

    ((_, news),) = told(folder, before=mend)
    assert unlike(news) == []


def test_a_generation_that_the_trainer_has_mended_is_no_disagreement(folder):
    edit(folder / "generation_config.json", eos_token_id=[420])
    ((_, news),) = told(folder)
    assert unlike(news) == []  # the live model's generation ends at 422


def test_a_file_that_changes_is_told_with_the_parts_that_would_differ(folder):
    def change(tokenizer):
        (folder / "chat_template.jinja").write_text(BRACKETS)

    _, (step, news) = told(folder, change)
    assert (step, news.matter) == (2, "changed")
    assert news.files == ("chat_template.jinja",)
    assert news.parts == ("chat template",)


def test_what_the_run_has_added_itself_is_no_change_of_the_files(folder):
    def change(tokenizer):
        (folder / "chat_template.jinja").write_text(BRACKETS)

    _, (_, news) = told(folder, change, before=lambda each: each.add_tokens(["<new>"]))
    assert news.parts == ("chat template",)


def test_a_run_that_saves_its_own_tokenizer_there_is_not_apart_from_it(folder):
    def change(tokenizer):
        tokenizer.save_pretrained(folder)

    _, (_, news) = told(folder, change, before=lambda each: each.add_tokens(["<new>"]))
    assert "tokenizer.json" in news.files
    assert news.parts == ()


def test_a_file_that_is_half_written_is_looked_at_again(folder):
    whole = (folder / "tokenizer.json").read_text()

    def change(tokenizer):
        (folder / "tokenizer.json").write_text(whole[:-9])

    assert len(told(folder, change)) == 1
    (folder / "tokenizer.json").write_text(whole)

    def add(tokenizer):
        inner = Tokenizer.from_str(whole)
        inner.add_special_tokens([AddedToken("<new>", special=True)])
        inner.save(str(folder / "tokenizer.json"))

    _, (_, news) = told(folder, add)
    assert news.parts == ("vocabulary", "added tokens")


def test_a_stale_map_that_appears_is_told(folder):
    def change(tokenizer):
        edit(folder / MAP, eos_token="<|pad|>")

    _, (_, news) = told(folder, change)
    assert news.files == (MAP,)
    is_read = AutoTokenizer.from_pretrained(folder).eos_token == "<|pad|>"  # not by 4
    assert news.parts == (("special tokens",) if is_read else ())


def test_rows_that_the_live_model_has_got_are_not_missing(folder):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_special_tokens({"pad_token": "<padding>"})
    tokenizer.save_pretrained(folder)
    ((_, news),) = told(folder)  # its model has a row for each id
    assert unlike(news) == ["pad_token_id"]


def test_a_tokenizer_without_a_folder_is_left_alone(recwarn):
    trained = model(len(byte_level()))
    settings = {"probes": [SourceFolder(1)], "tokenizer": byte_level()}
    with Recording(trained, torch.optim.SGD(trained.parameters()), **settings) as run:
        trained(input_ids=torch.tensor([[5]])).logits.sum().backward()
    assert not [each for each in run.records if isinstance(each, Event)]
    assert not [each for each in recwarn if "ftlab" in str(each.message)]
    assert not [each for each in recwarn if "detached" in str(each.message)]
