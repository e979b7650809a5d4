"""The page of a tuned program."""
