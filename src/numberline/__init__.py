"""numberline finds, causally, the straight line that a language model computes with inside a curved representation."""

__version__ = "0.1.0"
