"""Plots to look closer at: hover, rotate, step through layers. Each is made from stored results alone."""
