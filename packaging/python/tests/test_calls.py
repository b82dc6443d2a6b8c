"""Calls, and what comes back."""

import threading
import unittest
from datetime import timedelta

import anyhost
from anyhost import Cancel, Client, Delivery, Endpoint, Phase, Reason, Secret

from .server import Server, refusing


class Calls(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.__exit__)

    def test_failover(self):
        dead = refusing()
        with Client([dead, self.server.url]) as client:
            answer = client.get("/status?q=1")
        self.assertEqual((answer.status, answer.text), (200, "GET /status?q=1 "))
        self.assertEqual((answer.body, answer.content_length), (b"GET /status?q=1 ", 16))
        self.assertEqual(answer.endpoint, self.server.url)
        self.assertEqual(answer.url, self.server.url + "/status")
        self.assertEqual(answer.headers["SET-COOKIE"], "a=1")
        self.assertEqual(answer.headers.all("Set-Cookie"), ["a=1", "b=2"])
        self.assertEqual(answer.headers["x-bytes"].encode("latin-1").decode(), "grün")
        self.assertIsNone(answer.headers.get("x-none"))
        self.assertGreater(answer.elapsed, 0)
        first, second = answer.attempts
        self.assertRegex(str(first), r"^1\. http://.*: refused at connect \(not_sent\), \d+ ms$")
        self.assertRegex(str(second), r"^2\. http://.*: 200 \(answered\), \d+ ms$")
        self.assertEqual((first.endpoint, first.proxy, first.bytes_sent), (dead, None, 0))
        self.assertEqual((first.reason, first.phase), (Reason.REFUSED, Phase.CONNECT))
        self.assertIs(second.delivery, Delivery.ANSWERED)
        self.assertIn("refused", first.message)

    def test_json(self):
        with Client(self.server.url) as client:
            answer = client.post("/orders", json={"item": 4711})
            self.assertEqual(answer.text, 'POST /orders {"item": 4711}')
            client.put("/a", json=None, headers={"content-type": "application/vnd.api+json"})
            self.assertRaises(TypeError, client.post, "/", b"a", json=1)
            self.assertRaises(TypeError, client.post, "/", json={1, 2})
        kinds = [it.headers["content-type"] for it in self.server.requests]
        self.assertEqual(kinds, ["application/json", "application/vnd.api+json"])

    def test_methods(self):
        with Client(self.server.url) as client:
            self.assertEqual(client.put("/p", "grün").text, "PUT /p grün")
            self.assertEqual(client.patch("/p").text, "PATCH /p ")
            self.assertEqual(client.delete("/p").text, "DELETE /p ")
            self.assertEqual(client.head("/p").body, b"")
            self.assertEqual(client.request("OPTIONS", "/p").text, "OPTIONS /p ")
        self.assertEqual(self.server.connections, 1)

    def test_headers(self):
        endpoint = Endpoint(self.server.url, label="one", headers={"X-One": "1", "X-Both": "endpoint"})
        headers = {"X-All": "all", "X-Both": "client", "X-Mine": "client"}
        with Client([endpoint], headers=headers, user_agent="tests") as client:
            answer = client.get("/", headers={"X-Mine": "request", "X-Token": Secret("hidden")})
        sent = self.server.requests[0].headers
        names = ["user-agent", "x-all", "x-one", "x-both", "x-mine", "x-token"]
        self.assertEqual(
            [sent[name] for name in names], ["tests", "all", "1", "endpoint", "request", "hidden"]
        )
        self.assertEqual((answer.endpoint, answer.attempts[0].endpoint), ("one", "one"))
        self.assertNotIn("hidden", repr(Secret("hidden")))
        self.assertEqual(repr(answer), "<Response 200 of one, 1 attempt, 6 bytes>")

    def test_headers_as_pairs_and_bytes(self):
        with Client(self.server.url) as client:
            client.get("/", headers=[("X-Twice", "1"), ("X-Twice", "2"), ("X-Bytes", b"\xe4\xff"), ("X-Text", "ä")])
        sent = self.server.requests[0].headers
        self.assertEqual((sent["x-twice"], sent["x-bytes"], sent["x-text"]), ("1, 2", "\xe4\xff", "Ã¤"))

    def test_options(self):
        Client(self.server.url, deadline="4s", hold_for=250, connect_timeout=timedelta(seconds=1),
               require_success=False, user_agent=None, preset="resilient").close()
        listed = {option.name: option for option in anyhost.options()}
        self.assertEqual((listed["hold_for"].default, listed["hold_for"].for_requests), ("5m", False))
        self.assertTrue(listed["deadline"].for_requests)
        self.assertGreater(len(listed["deadline"].help), 10)
        # Each is an argument of its name, with the text that stands for its default.
        with Client(self.server.url) as client:
            for name, option in listed.items():
                Client(self.server.url, **{name: option.default}).close()
                if option.for_requests:
                    self.assertEqual(client.get("/", **{name: option.default}).status, 200)
                else:
                    self.assertRaises(anyhost.OptionError, client.get, "/", **{name: option.default})

    def test_threads(self):
        found = []
        with Client(self.server.url) as client:
            def ask(i):
                for n in range(25):
                    found.append((i, n, client.get(f"/{i}/{n}").text))
            threads = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        expected = [(i, n, f"GET /{i}/{n} ") for i in range(8) for n in range(25)]
        self.assertEqual(sorted(found), expected)
        self.assertEqual(len(self.server.requests), 200)

    def test_a_client_that_is_closed_during_calls(self):
        client = Client(self.server.url)
        ended = []

        def ask():
            try:
                ended.append(client.get("/holds"))
            except anyhost.Error as error:
                ended.append(type(error))

        thread = threading.Thread(target=ask)
        thread.start()
        self.server.wait_for(1)
        client.close()
        client.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            client.get("/")
        self.server.released.set()  # Hangs up: the call had gone on.
        thread.join()
        self.assertEqual(ended, [anyhost.AttemptsSpentError])

    def test_shutdown(self):
        with Client(self.server.url) as client:
            threading.Thread(target=lambda: (self.server.wait_for(1), client.shutdown())).start()
            for _ in range(2):
                with self.assertRaises(anyhost.ShutDownError):
                    client.get("/holds")
        self.assertEqual(len(self.server.requests), 1)

    def test_cancel(self):
        cancel = Cancel()
        with Client(self.server.url) as client:
            client.get("/", cancel=cancel)
            trigger = threading.Thread(target=lambda: (self.server.wait_for(2), cancel.trigger()))
            trigger.start()
            with self.assertRaises(anyhost.CancelledError) as caught:
                client.get("/holds", cancel=cancel)
            trigger.join()
            self.assertTrue(cancel.is_triggered)
            self.assertIs(caught.exception.reason, Reason.CANCELLED)
            with self.assertRaises(anyhost.CancelledError):
                client.get("/", cancel=cancel)
            client.get("/", cancel=Cancel())
        self.assertEqual(self.server.seen(), ["GET /", "GET /holds", "GET /"])


class Library(unittest.TestCase):
    def test_version(self):
        self.assertRegex(anyhost.version(), r"^\d+\.\d+\.\d+")
        self.assertEqual(anyhost.__version__, anyhost.version())
        self.assertIn(anyhost.version(), anyhost.build_info())

    def test_everything_public_is_there_and_said_what_it_is(self):
        for name in anyhost.__all__:
            self.assertTrue(hasattr(anyhost, name), name)
            it = getattr(anyhost, name)
            if isinstance(it, type):
                self.assertTrue(it.__doc__, name)


class Numbers(unittest.TestCase):
    def test_a_number_of_a_later_library(self):
        later = Reason(999)
        self.assertEqual((later, later.name, str(later)), (999, "UNKNOWN_999", "unknown_999"))
        self.assertEqual(str(Phase.PROXY_AUTH), "proxy_auth")
        self.assertEqual(f"{Phase.PROXY_AUTH} {Phase.TLS:>4}", "proxy_auth  tls")
        with self.assertRaises(ValueError):
            Reason("refused")
