"""The page of `tauto simulate`."""
