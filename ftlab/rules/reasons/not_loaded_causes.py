"""Why an adapter is without its values, in words: cause and fix of each reason."""

CAUSES = {
    "compiled": (
        "The file, or a dictionary such as an average's, has the names of modules "
        "wrapped by torch.compile, or is loaded into such a model: only one side's "
        "keys contain '_orig_mod.'.",
        "Drop '_orig_mod.' from the keys and load again; compile in place with "
        "layer.compile() next time.",
    ),
    "parallel": (
        "The file was saved from a wrapped model: 'module.' is in its keys.",
        "Drop the wrapper's name from the file's keys; save the unwrapped model.",
    ),
    "adapter-name": (
        "Only one side's keys contain the adapter's name, or the names differ: PEFT's "
        "files have none, torch's state dicts do.",
        "Load PEFT's files with model.load_adapter or set_peft_model_state_dict, and "
        "state dicts under the adapter name that they were saved with.",
    ),
    "wrapped-twice": (
        "PEFT was applied to a model that already has it, or not applied at all: its "
        "prefix occurs in the model's names once more or once less than in the file's.",
        "PeftModel.from_pretrained(base, folder) on the plain base model, without "
        "get_peft_model before it.",
    ),
    "prefix": (
        "All keys begin differently from the model's: the state belongs to a module "
        "that contains the model (Lightning's 'model.'), or to one inside it.",
        "Strip the prefix from the keys, or load into the module that the state was "
        "taken from; load with strict=True, or check unexpected_keys.",
    ),
    "other-class": (
        "The adapter belongs to a model with a head, but was loaded on the bare "
        "transformer, or vice versa: all paths begin differently.",
        "Load the class that was trained (AutoModelForCausalLM) and take its .model, "
        "or pass key_mapping to from_pretrained.",
    ),
    "other-model": (
        "The file's keys are not those of this model: it belongs to a different "
        "adapter, or the targets differ.",
        "Check that the folder belongs to this model and its target_modules.",
    ),
    "other-shape": (
        "The file's tensors have a different shape (usually a different rank), and "
        "ignore_mismatched_sizes skipped them: the adapter keeps its initial values.",
        "Build the adapter with the rank in the file's adapter_config.json; "
        "PeftModel.from_pretrained(base, folder) does so.",
    ),
    "outdated-file": (
        "The folder holds adapter_model.safetensors and a newer adapter_model.bin with "
        "other values; PEFT reads the safetensors and ignores the pickle.",
        "Delete or move adapter_model.safetensors if the pickle is the trained one, "
        "and save with safe_serialization=True into a folder of its own.",
    ),
    "not-resumed-yet": (
        "The folder is a Trainer's checkpoint, and the adapter is fresh: fine before "
        "train(resume_from_checkpoint=...), which reads it.",
        "trainer.train(resume_from_checkpoint=folder); train() alone starts over.",
    ),
    "values": (
        "The adapter's tensors are not those of the file: it was not loaded, or into "
        "another adapter.",
        "PeftModel.from_pretrained(base, folder), and set_adapter to the loaded one.",
    ),
    "zero": (
        "The adapter was loaded but none of its keys were found in the file (or it was "
        "created from a saved configuration that contains inference_mode): every B is "
        "0.",
        "Load on the class that was trained, and watch for PEFT's warning about "
        "missing keys; ftlab.preflight(model, adapter=folder) says which keys were not "
        "read.",
    ),
    "resumed-at-zero": (
        "Training continues at a later step with a fresh adapter: the checkpoint "
        "stores it under names that loading did not find.",
        "Look for '_orig_mod.' or 'module.' in the checkpoint's keys; "
        "ftlab.preflight(model, adapter=checkpoint) compares them.",
    ),
    "moments-without-weights": (
        "The optimizer's state was loaded, but its weights were not: B has moments "
        "from training, but is 0.",
        "Load the adapter as well (model.load_adapter, set_peft_model_state_dict), and "
        "check the unexpected_keys that loading returns.",
    ),
    "moments-of-other-weights": (
        "The optimizer's state was loaded, but the model's weights were not: the keys "
        "of the file differ (torch.compile's '_orig_mod.', DDP's 'module.'), which "
        "strict=False ignores.",
        "Load into the model before it is wrapped or compiled, with strict=True, or "
        "check the missing_keys that loading returns.",
    ),
    "inactive": (
        "The trained adapter was loaded next to a fresh one, which stayed active: "
        "load_adapter does not activate what it loads.",
        "model.set_adapter(name) with the loaded adapter's name, or "
        "PeftModel.from_pretrained(base, folder) without get_peft_model before it.",
    ),
    "other-slot": (
        "The folder was loaded into an inactive adapter, and the active one is fresh: "
        "set_peft_model_state_dict fills 'default' unless given a different name, and "
        "load_adapter does not activate what it loads.",
        "set_peft_model_state_dict(model, state, adapter_name=...) with the name of "
        "the trained adapter, or model.set_adapter(name) with that of the loaded one.",
    ),
    "base-names": (
        "The folder was saved from a model with an adapter or a wrapper still on it: "
        "its keys contain PEFT's or the wrapper's names (base_layer, module), so "
        "from_pretrained finds no weight of these layers and initializes them "
        "randomly.",
        "Save merge_and_unload()'s model, or the PeftModel (only the adapter); repair "
        "this file by removing '.base_layer' from its keys.",
    ),
}
