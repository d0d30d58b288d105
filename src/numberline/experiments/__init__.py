"""The paper, section by section: one file per question, each experiment a function from a Lab to a Result."""
