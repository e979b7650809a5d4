"""What a program links and loads, and what of it can be set from outside: ``tauto inspect``."""
