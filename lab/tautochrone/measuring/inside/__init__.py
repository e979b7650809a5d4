"""What runs in another process, beside the program that is measured: it imports nothing of the laboratory."""
