"""What is told of a folder goes through JSON and back."""

import json

from ftlab.records.folder_news import FolderNews
from ftlab.records.tokenizer_files import Agreement


def test_all_of_it_comes_back():
    agreement = Agreement("eos_token", "differs", "words", {"a.json": "x"}, "stale")
    news = FolderNews("read", "mine", ("a.json",), ("merges",), (agreement,))
    assert FolderNews.from_json(json.loads(json.dumps(news.as_json()))) == news
