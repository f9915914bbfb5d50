"""What a step takes in memory: rehearsed without values, and measured."""
