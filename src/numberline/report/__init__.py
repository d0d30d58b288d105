"""Figures, tables and the page. Reads stored results only, never a model."""
