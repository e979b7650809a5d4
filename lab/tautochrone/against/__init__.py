"""A measured study beside the simulation of the machine that it was measured on."""
