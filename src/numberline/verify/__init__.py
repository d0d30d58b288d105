"""Do the methods find what was put in? The scorecard of the planted model."""
