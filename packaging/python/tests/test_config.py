"""A client of a file."""

import json
import os
import sys
import tempfile
import unittest

import anyhost
from anyhost import Client

from .server import Server, refusing


class Config(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.__exit__)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def file(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return path

    def test_json(self):
        told = {
            "preset": "resilient",
            "selection": "ordered",
            "deadline": 9000,
            "error_statuses": [404, "5xx"],
            "breaker": True,
            "endpoints": [
                {"url": refusing(), "label": "dead", "secret_headers": {"X-Key": "of the dead"}},
                {"url": self.server.url, "label": "live", "weight": 7, "headers": {"X-Of": "live"}},
            ],
            "headers": {"Accept": "text/plain"},
            "secret_headers": {"X-Token": "geheim"},
        }
        path = self.file("a.json", told)
        with Client.from_file(path) as client:
            answer = client.get("/")
            self.assertEqual([it.endpoint for it in answer.attempts], ["dead", "live"])
            self.assertEqual(client.snapshot()["live"].max_weight, 7)
            with self.assertRaises(anyhost.RejectedError):
                client.get("/status/404")
        headers = self.server.requests[0].headers
        self.assertEqual([headers[name] for name in ("accept", "x-token", "x-of")], ["text/plain", "geheim", "live"])
        self.assertNotIn("x-key", headers)
        with Client.from_file(path, error_statuses="off") as client:
            self.assertEqual(client.get("/status/404").status, 404)

    @unittest.skipIf(sys.version_info < (3, 11), "no tomllib")
    def test_toml(self):
        content = f'base_urls = ["{refusing()}", "{self.server.url}"]\nmax_attempts = 2\nbreaker = off\n'
        with self.assertRaises(anyhost.OptionError) as caught:
            Client.from_file(self.file("a.toml", content))
        self.assertIn("line 3, column 11", caught.exception.message)
        path = self.file("b.toml", content.replace("= off", "= 'off'"))
        with Client.from_file(path) as client:
            self.assertEqual(len(client.get("/").attempts), 2)

    def test_mistakes(self):
        for told, words in [
            ("{\n  \"deadline\": }", "line 2 column 15"),
            ({"deadlin": "4s"}, "deadlin"),
            ({"deadline": "soon"}, "deadline"),
            ({"deadline": 1.5}, "a whole number"),
            ({"endpoints": [{"label": "a"}]}, "with a url"),
            ({"endpoints": [{"url": "http://a.example", "lable": "a"}]}, "lable: an endpoint has no such key"),
            ({"root_pem_files": ["none.pem"]}, "none.pem"),
            ({"client_cert_file": "a.json"}, "go together"),
            ({"headers": {"A": 1}}, "a table of texts"),
        ]:
            path = self.file("a.json", told)
            with self.assertRaises(anyhost.OptionError) as caught:
                Client.from_file(path)
            self.assertTrue(caught.exception.message.startswith(path), caught.exception.message)
            self.assertIn(words, caught.exception.message)
        with self.assertRaises(anyhost.OptionError):
            Client.from_file(os.path.join(self.folder, "none.toml"))
