"""Tests of the package, on servers of their own: `python3 -m unittest discover packaging/python`."""
