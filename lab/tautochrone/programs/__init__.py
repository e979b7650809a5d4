"""What a command starts, seen from its files: the program behind wrappers, and the libraries it loads."""
