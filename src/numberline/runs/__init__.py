"""The run folder: results, resume, provenance."""
