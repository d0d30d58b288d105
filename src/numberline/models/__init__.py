"""Loading models, the map from an architecture to sites, and the built-in models."""
