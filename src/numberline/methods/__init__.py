"""Small pure functions on the engine: metrics, intervals, fits."""
