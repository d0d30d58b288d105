"""Two numbers, question by question: one file each."""
