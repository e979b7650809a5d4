"""Machines that are not on the desk: machine files, requests and charts."""
