"""What a run found, on disk and in memory, without torch: results, their tables, the run folder."""
