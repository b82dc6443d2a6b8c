"""The process around: forks, the end of the interpreter, memory."""

import _thread
import gc
import os
import subprocess
import sys
import unittest
import weakref
from unittest import mock

from anyhost import Client

from .server import Server


class Processes(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.__exit__)

    @unittest.skipUnless(hasattr(os, "fork"), "there is no fork")
    def test_fork(self):
        """Parent and child get their own answers, on connections of their own."""
        program = (
            "import os, sys, anyhost\n"
            "client = anyhost.Client(sys.argv[1])\n"
            "client.get('/warm')\n"
            "child = os.fork()\n"
            "name = 'parent' if child else 'child'\n"
            "for i in range(100):\n"
            "    path = f'/{name}/{i}'\n"
            "    assert client.get(path).text == f'GET {path} ', path\n"
            "if child:\n"
            "    assert os.waitpid(child, 0)[1] == 0\n"
        )
        ended = subprocess.run([sys.executable, "-W", "error", "-c", program, self.server.url], timeout=60)
        self.assertEqual(ended.returncode, 0)
        self.assertEqual(len(self.server.requests), 201)
        self.assertEqual(self.server.connections, 2)

    def test_a_call_when_the_interpreter_ends(self):
        program = (
            "import atexit, sys, anyhost\n"
            "client = anyhost.Client(sys.argv[1], on_event=lambda event: None)\n"
            "stream = client.stream('GET', '/large')\n"
            "atexit.register(lambda: print(client.get('/').text))\n"
        )
        ended = subprocess.run(
            [sys.executable, "-c", program, self.server.url], capture_output=True, text=True, timeout=60
        )
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "GET / \n", ""))

    def test_a_call_for_which_there_is_no_thread(self):
        def raises(event):
            raise RuntimeError("planted")

        with mock.patch.object(_thread, "start_new_thread", side_effect=RuntimeError):
            with Client(self.server.url) as client:
                self.assertEqual(client.get("/").text, "GET / ")
            with Client(self.server.url, on_event=raises) as client:
                self.assertRaisesRegex(RuntimeError, "planted", client.get, "/")

    def test_clients_go_when_nobody_holds_them(self):
        def use():
            client = Client(self.server.url, on_event=lambda event: client)
            client.get("/")
            return weakref.ref(client._handle)

        handle = use()
        gc.collect()
        self.assertIsNone(handle())
