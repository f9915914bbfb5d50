"""The gallery: real faults of fine-tuning, one per file, each with a healthy twin.

They teach, they test the rules, and they are the measure of what ftlab finds.
"""
