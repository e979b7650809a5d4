"""Which of some commands, or callables, is the better one: measured together, with a bound on the error."""
