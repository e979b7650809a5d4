"""The power study: what threads cost and gain. Jobs shared equally and unequally, two programs at once."""
