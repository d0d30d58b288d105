"""The task of the paper: prompts, positions, counterfactuals, populations. Knows tokenizers, no model."""
