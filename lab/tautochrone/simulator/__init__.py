"""Machines that are not on the desk: machine files, requests to ``tauto-simulate``, charts, and the claims."""
