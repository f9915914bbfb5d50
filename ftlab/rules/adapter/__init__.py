"""Rules about LoRA and other adapters."""
