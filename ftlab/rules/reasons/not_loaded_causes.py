"""Why an adapter is without its values, in words: cause and fix of each reason."""

CAUSES = {
    "compiled": (
        "The file, or a dictionary such as an average's, has the names of modules "
        "wrapped by torch.compile, or is loaded into such: '_orig_mod.' is in one "
        "side's keys alone.",
        "Drop '_orig_mod.' from the keys and load again; compile in place with "
        "layer.compile() next time.",
    ),
    "parallel": (
        "The file was saved from a wrapped model: 'module.' is in its keys.",
        "Drop the wrapper's name from the file's keys; save the unwrapped model.",
    ),
    "adapter-name": (
        "The adapter's name is in the keys of one side alone, or another one: PEFT's "
        "files have none, and torch's state dicts have.",
        "Load PEFT's files with model.load_adapter or set_peft_model_state_dict, and "
        "state dicts under the adapter name that they were taken with.",
    ),
    "wrapped-twice": (
        "PEFT was put on a model that has it already, or on the bare one: its prefix "
        "stands in the model's names once more or once less than in the file's.",
        "PeftModel.from_pretrained(base, folder) on the bare base model, without "
        "get_peft_model before it.",
    ),
    "prefix": (
        "All keys begin otherwise than the model's: the state is of a module that "
        "holds the model (Lightning's 'model.'), or of one within it.",
        "Strip the prefix from the keys, or load into the module that the state was "
        "taken of; load with strict=True, or look at unexpected_keys.",
    ),
    "other-class": (
        "The adapter belongs to a model with a head, and was put on the bare "
        "transformer, or the other way round: all paths begin differently.",
        "Load the class that was trained (AutoModelForCausalLM) and take its .model, "
        "or pass key_mapping to from_pretrained.",
    ),
    "other-model": (
        "The file's keys are not those of this model: it is another adapter's, or the "
        "targets are others.",
        "See that the folder belongs to this model and its target_modules.",
    ),
    "other-shape": (
        "The file's tensors have another shape (another rank, most often), and "
        "ignore_mismatched_sizes left them out: the adapter keeps what it was drawn "
        "with.",
        "Build the adapter with the rank in the file's adapter_config.json; "
        "PeftModel.from_pretrained(base, folder) takes it from there.",
    ),
    "outdated-file": (
        "The folder holds adapter_model.safetensors and a newer adapter_model.bin with "
        "other values; PEFT reads the safetensors and leaves the pickle alone.",
        "Delete or move adapter_model.safetensors if the pickle is the one that was "
        "trained, and save with safe_serialization=True into a folder of its own.",
    ),
    "not-resumed-yet": (
        "The folder is a Trainer's checkpoint, and the adapter is fresh: right before "
        "train(resume_from_checkpoint=...), which reads it.",
        "trainer.train(resume_from_checkpoint=folder); train() alone begins anew.",
    ),
    "values": (
        "The adapter's tensors are not those of the file: it was not loaded, or into "
        "another adapter.",
        "PeftModel.from_pretrained(base, folder), and set_adapter to the loaded one.",
    ),
    "zero": (
        "The adapter was loaded and nothing of it was found in the file (or it was "
        "made from a saved configuration, with inference_mode in it): every B is 0.",
        "Load on the class that was trained, and mind PEFT's warning of missing keys; "
        "ftlab.preflight(model, adapter=folder) says which keys were not read.",
    ),
    "resumed-at-zero": (
        "Training goes on at a later step with an adapter that is fresh: the "
        "checkpoint holds it under names that loading did not find.",
        "Look for '_orig_mod.' or 'module.' in the checkpoint's keys; "
        "ftlab.preflight(model, adapter=checkpoint) compares them.",
    ),
    "moments-without-weights": (
        "The optimizer's state was loaded, and the weights that it belongs to were "
        "not: the moments have moved B, and B is 0.",
        "Load the adapter as well (model.load_adapter, set_peft_model_state_dict), "
        "and look at the unexpected_keys that loading returns.",
    ),
    "moments-of-other-weights": (
        "The optimizer's state was loaded, and the model's weights were not: the keys "
        "of its file are other ones (torch.compile's '_orig_mod.', DDP's 'module.'), "
        "and strict=False let that pass.",
        "Load into the bare model before it is wrapped or compiled, with strict=True, "
        "or look at the missing_keys that loading returns.",
    ),
    "inactive": (
        "The trained adapter was loaded beside a fresh one, which stayed the active "
        "one: load_adapter does not activate what it loads.",
        "model.set_adapter(name) with the loaded adapter's name, or "
        "PeftModel.from_pretrained(base, folder) without get_peft_model before it.",
    ),
    "other-slot": (
        "The folder was loaded into an adapter that is not active, and the active one "
        "is fresh: set_peft_model_state_dict fills 'default' unless it is told another "
        "name, and load_adapter does not activate what it loads.",
        "set_peft_model_state_dict(model, state, adapter_name=...) with the name that "
        "is trained, or model.set_adapter(name) with the one that was loaded.",
    ),
    "base-names": (
        "The folder was saved from a model with an adapter or a wrapper still on it: "
        "its keys have PEFT's or the wrapper's parts in them (base_layer, module), "
        "from_pretrained finds no weight of these layers and draws them at random.",
        "Save merge_and_unload()'s model, or the PeftModel (the adapter alone); "
        "mend this file by taking '.base_layer' out of its keys.",
    ),
}
