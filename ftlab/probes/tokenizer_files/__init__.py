"""The files of a tokenizer: what each says, and what transformers reads of them.

Who calls whom: `folder_files` reads the files, without trust in any of them;
`file_agreements` compares what they say with a tokenizer that was loaded from them.
"""
