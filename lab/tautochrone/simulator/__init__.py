"""Machines that are not on the desk: machine files, requests, charts, and the claims."""
