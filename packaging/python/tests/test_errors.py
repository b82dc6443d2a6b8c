"""Calls that end without an answer, and settings that are wrong."""

import json
import pickle
import unittest
from datetime import timedelta

import anyhost
from anyhost import Client, Delivery, Error, Phase, Reason, Status

from .server import Server, refusing


class Errors(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.__exit__)

    def test_no_answer(self):
        with Client(refusing()) as client, self.assertRaises(anyhost.AttemptsSpentError) as caught:
            client.get("/")
        error = caught.exception
        self.assertEqual(
            (error.status, error.reason, error.phase, error.delivery),
            (Status.ATTEMPTS_SPENT, Reason.REFUSED, Phase.CONNECT, Delivery.NOT_SENT),
        )
        self.assertEqual((len(error.attempts), error.os_error), (1, 111))
        self.assertEqual((error.retry_after, error.option, error.body), (0, None, b""))
        self.assertEqual(str(error), f"ATTEMPTS_SPENT: {error.message}")
        self.assertEqual(json.loads(error.json)["reason"], "refused")
        self.assertIsInstance(error, anyhost.CallError)

    def test_explained_at_length(self):
        dead = refusing()
        with Client(dead) as client, self.assertRaises(anyhost.CallError) as caught:
            client.post("/orders?secret=1", b"one coffee")
        lines = caught.exception.explain().splitlines()
        self.assertEqual(lines[0], "ATTEMPTS_SPENT: no further attempt is left or allowed")
        self.assertEqual(lines[1], "tried:")
        self.assertIn(f"1. {dead}: refused while connecting (not sent)", lines[2])
        self.assertIn("certain: no server received the request", lines)
        self.assertTrue(lines[-1].startswith("to do: it is safe to call again"), lines)
        self.assertNotIn("secret", caught.exception.explain())
        with self.assertRaises(anyhost.NotFoundError) as caught, Client(dead) as client:
            client.enable("nobody")
        self.assertTrue(caught.exception.explain().startswith("NOT_FOUND: "))

    def test_a_write_is_not_repeated(self):
        other = Server()
        self.addCleanup(other.__exit__)
        with Client([self.server.url, other.url]) as client:
            with self.assertRaises(anyhost.CallError) as caught:
                client.post("/resets", b"one coffee")
            self.assertIs(caught.exception.delivery, Delivery.MAYBE)
            self.assertEqual(len(caught.exception.attempts), 1)
        self.assertEqual((len(self.server.requests), other.requests), (1, []))

    def test_a_body_that_broke_off_is_no_200_in_a_text(self):
        with Client(self.server.url) as client, self.assertRaises(anyhost.CallError) as caught:
            client.post("/cut", b"one coffee")
        attempt = caught.exception.attempts[0]
        self.assertEqual((attempt.http_status, attempt.reason), (200, Reason.TRUNCATED))
        self.assertRegex(str(attempt), r"^1\. http://.*: truncated at body \(answered\), \d+ ms$")

    def test_who_was_not_tried(self):
        with Client([refusing(), self.server.url]) as client:
            client.disable(self.server.url, "its disk is full")
            with self.assertRaises(anyhost.CallError) as caught:
                client.get("/")
        lines = caught.exception.explain().splitlines()
        at = lines.index("not tried:")
        self.assertEqual(lines[at + 1], f"  {self.server.url} is disabled: by an operator")

    def test_turned_down(self):
        with Client(self.server.url) as client:
            self.assertEqual(client.get("/status/404").status, 404)
            with self.assertRaises(anyhost.RejectedError) as caught:
                client.get("/status/404", require_success=True)
        self.assertEqual((caught.exception.http_status, caught.exception.body), (404, b"no such"))

    def test_limits(self):
        with Client(self.server.url) as client:
            with self.assertRaises(anyhost.DeadlineError):
                client.get("/holds", deadline=timedelta(milliseconds=80))
            with self.assertRaises(anyhost.TooLargeError):
                client.get("/large", max_body="1k")

    def test_settings(self):
        for options, wrong in [({"deadline": "soon"}, "deadline"), ({"no_such": 1}, "no_such")]:
            with self.assertRaises(anyhost.OptionError) as caught:
                Client(self.server.url, **options)
            self.assertEqual(caught.exception.option, wrong)
        with Client(self.server.url) as client, self.assertRaises(anyhost.OptionError) as caught:
            client.get("/", hold_for="1s")
        self.assertEqual(caught.exception.option, "hold_for")
        with Client(self.server.url) as client, self.assertRaises(anyhost.OptionError) as unknown:
            client.get("/", timeout=3)
        self.assertIn("there is no option `timeout`; near to it: ", unknown.exception.message)
        self.assertIn("stall_timeout", unknown.exception.message)
        with self.assertRaises(anyhost.OptionError) as built:
            Client(self.server.url, timeout=3)
        self.assertEqual(vars(built.exception), vars(unknown.exception))
        self.assertIn("hold_for", caught.exception.message)
        for endpoints, kind in [
            ("", anyhost.ConfigError),
            ("ftp://127.0.0.1", anyhost.UrlError),
            ([self.server.url] * 2, anyhost.DuplicateError),
            (["https://a.example", "http://b.example"], anyhost.DowngradeError),
        ]:
            with self.assertRaises(kind) as caught:
                Client(endpoints)
            self.assertIsInstance(caught.exception, anyhost.BuildError)
        with self.assertRaises(anyhost.UrlError):
            Client(self.server.url, proxies="ftp://proxy.example")
        with self.assertRaises(anyhost.TlsMaterialError):
            Client("https://a.example", root_pem=b"no certificate")

    def test_arguments(self):
        with Client(self.server.url) as client:
            for path, expected in [("/a b", anyhost.ArgumentError), ("/a\0b", ValueError), (b"/", TypeError)]:
                self.assertRaises(expected, client.get, path)
            self.assertRaises(TypeError, client.post, "/", 7)
            self.assertRaises(TypeError, client.post, "/", {"a": b"dict"})
            self.assertRaises(TypeError, client.get, "/", headers={"X": 1})
            self.assertRaises(anyhost.ArgumentError, client.get, "/", headers={"X": "a\r\nY: b"})
            self.assertRaises(TypeError, client.get, "/", deadline=1.5)
            self.assertRaises(OverflowError, client.get, "/", deadline=2**64)
            self.assertRaises(anyhost.RangeError, client.get, "/", deadline=-1)
            self.assertRaises(OverflowError, client.set_weight, "x", -1)
        self.assertRaises(TypeError, Client, self.server.url, deadline=1.5)
        self.assertEqual(self.server.requests, [])

    def test_each_status_has_its_class_in_its_group(self):
        from anyhost._errors import _CLASSES, error_of

        self.assertEqual(set(_CLASSES), set(Status) - {Status.OK})
        self.assertEqual(len(set(_CLASSES.values())), len(_CLASSES))
        for status, kind in _CLASSES.items():
            words = status.name.title().replace("_", "") + "Error"
            self.assertEqual(kind.__name__, {"BufferError": "BufferTooSmallError"}.get(words, words))
        # Those that a later library may have.
        later = {99: anyhost.UsageError, 150: anyhost.BuildError, 299: anyhost.CallError,
                 990: anyhost.InternalError}
        for number, group in later.items():
            self.assertIs(type(error_of(number)), group)

    def test_errors_go_through_pools_of_processes(self):
        with Client(refusing()) as client, self.assertRaises(Error) as caught:
            client.get("/")
        error = caught.exception
        again = pickle.loads(pickle.dumps(error))
        self.assertIs(type(again), type(error))
        self.assertEqual((str(again), vars(again)), (str(error), vars(error)))
        self.assertEqual(again.attempts, error.attempts)
