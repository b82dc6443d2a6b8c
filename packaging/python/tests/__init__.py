"""Tests of the package, on servers of their own.

    cd packaging/python
    PYTHONPATH=src ANYHOST_LIBRARY=../../target/debug/libanyhost.so python3 -m unittest discover -t . -s tests
"""

import faulthandler

# A call that never ends is told where it is, and fails the run.
faulthandler.dump_traceback_later(300, exit=True)
