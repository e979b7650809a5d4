"""The loop study: parallel loops on cores of equal and unequal speed."""
