"""Studies that say what they run, and no more: their cells, verdict and page are the same."""
