"""``tauto tune``: the best settings for a program that somebody else wrote, from the outside."""
