"""Tests of anyhost.py. They need servers: `cargo test --test ffi` starts them and this.

ANYHOST_TEST_SERVER answers with method, target and body; GET /missing is 404, and POST /resets
resets the connection. ANYHOST_TEST_REFUSING refuses connections.
"""

import faulthandler
import os
import threading
import unittest
from datetime import timedelta

from anyhost import Client, Error, version

SERVER = os.environ["ANYHOST_TEST_SERVER"]
REFUSING = os.environ["ANYHOST_TEST_REFUSING"]


class Calls(unittest.TestCase):
    def test_failover(self):
        with Client([REFUSING, SERVER]) as client:
            answer = client.get("/status?q=1")
        self.assertEqual((answer.status, answer.text), (200, "GET /status?q=1 "))
        self.assertEqual(answer.body, b"GET /status?q=1 ")
        self.assertEqual((answer.endpoint, answer.url), (SERVER, SERVER + "/status"))
        self.assertEqual(answer.headers["X-METHOD"], "GET")
        self.assertEqual(answer.headers.all("Set-Cookie"), ["a=1", "b=2"])
        self.assertEqual(answer.headers["x-bytes"].encode("latin-1").decode(), "grün")
        self.assertIsNone(answer.headers.get("x-none"))
        self.assertGreater(answer.elapsed, 0)
        first, second = answer.attempts
        self.assertRegex(str(first), r"^1\. http://.*: refused at connect \(not_sent\), \d+ ms$")
        self.assertRegex(str(second), r"^2\. http://.*: 200 \(answered\), \d+ ms$")
        self.assertEqual((first.endpoint, first.proxy, first.bytes_sent), (REFUSING, None, 0))
        self.assertIn("refused", first.message)

    def test_bodies(self):
        with Client(SERVER) as client:
            self.assertEqual(client.post("/p", b"a\0b").body, b"POST /p a\0b")
            self.assertEqual(client.put("/p", "grün").text, "PUT /p grün")
            self.assertEqual(client.patch("/p").text, "PATCH /p ")
            self.assertEqual(client.delete("/p").text, "DELETE /p ")
            self.assertEqual(client.head("/p").body, b"")
            self.assertEqual(client.request("OPTIONS", "/p").text, "OPTIONS /p ")

    def test_threads(self):
        found = []
        with Client(SERVER) as client:
            def ask(i):
                found.append((i, client.get(f"/{i}").text))
            threads = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(sorted(found), [(i, f"GET /{i} ") for i in range(8)])


class Errors(unittest.TestCase):
    def test_no_answer(self):
        with Client(REFUSING) as client, self.assertRaises(Error) as caught:
            client.get("/")
        error = caught.exception
        self.assertEqual((error.status, error.reason, error.phase, error.delivery),
                         ("ATTEMPTS_SPENT", "refused", "connect", "not_sent"))
        self.assertEqual(len(error.attempts), 1)
        self.assertEqual((error.retry_after, error.option, error.body), (0, None, b""))
        self.assertTrue(str(error).startswith("ATTEMPTS_SPENT: "))
        self.assertIn(error.message, str(error))

    def test_a_write_is_not_repeated(self):
        with Client([SERVER, REFUSING]) as client, self.assertRaises(Error) as caught:
            client.post("/resets", b"one coffee")
        self.assertEqual(caught.exception.delivery, "maybe")
        self.assertEqual(len(caught.exception.attempts), 1)

    def test_turned_down(self):
        with Client(SERVER) as client:
            self.assertEqual(client.get("/missing").status, 404)
            with self.assertRaises(Error) as caught:
                client.get("/missing", require_success=True)
        error = caught.exception
        self.assertEqual((error.status, error.http_status, error.body), ("REJECTED", 404, b"no such"))

    def test_options(self):
        Client(SERVER, deadline="4s", hold_for=250, connect_timeout=timedelta(seconds=1),
               require_success=False, user_agent=None).close()
        for options, wrong in [({"deadline": "soon"}, "deadline"), ({"no_such": 1}, "no_such")]:
            with self.assertRaises(Error) as caught:
                Client(SERVER, **options)
            self.assertEqual((caught.exception.status, caught.exception.option), ("OPTION", wrong))
        with Client(SERVER) as client, self.assertRaises(Error) as caught:
            client.get("/", hold_for="1s")
        self.assertEqual((caught.exception.status, caught.exception.option), ("OPTION", "hold_for"))
        self.assertIn("hold_for", caught.exception.message)

    def test_bad_arguments(self):
        for urls, status in [("", "CONFIG"), ("ftp://127.0.0.1", "URL")]:
            with self.assertRaises(Error) as caught:
                Client(urls)
            self.assertEqual(caught.exception.status, status)
        with Client(SERVER) as client:
            for path, expected in [("/a b", Error), ("/a\0b", ValueError), (b"/", TypeError)]:
                self.assertRaises(expected, client.get, path)
            self.assertRaises(TypeError, client.post, "/", 7)
            self.assertRaises(TypeError, client.get, "/", headers={"X": 1})
            self.assertRaises(Error, client.get, "/", headers={"X": "a\r\nY: b"})
            self.assertRaises(TypeError, client.get, "/", deadline=1.5)
        self.assertRaises(TypeError, Client, SERVER, deadline=1.5)
        with self.assertRaisesRegex(ValueError, "closed"):
            client.get("/")


class Events(unittest.TestCase):
    def test_events(self):
        seen, threads = [], set()

        def on_event(event):
            seen.append(event)
            threads.add(threading.get_ident())

        with Client([REFUSING, SERVER], on_event=on_event) as client:
            client.get("/")
            client.get("/")
        self.assertEqual(threads, {threading.get_ident()})
        kinds = [event.kind for event in seen]
        self.assertEqual(kinds[:2], ["attempt_started", "attempt_ended"])
        self.assertEqual(kinds.count("failover"), 1)
        failover = seen[kinds.index("failover")]
        self.assertEqual(failover.endpoint, SERVER.split("//")[1])
        self.assertEqual(failover.attempt.reason, "refused")
        self.assertEqual({event.call_id for event in seen}, {1, 2})

    def test_a_callback_that_raises(self):
        raised = []

        def on_event(event):
            raised.append(event.kind)
            raise RuntimeError("planted " + str(len(raised)))

        with Client(SERVER, on_event=on_event) as client:
            with self.assertRaisesRegex(RuntimeError, "planted 1"):
                client.get("/first")
            self.assertEqual(raised[-1], "call_ended", "the call went on to its end")
            count = len(raised)
            with self.assertRaisesRegex(RuntimeError, f"planted {count + 1}"):
                client.get("/again")

    def test_no_call_from_a_callback(self):
        def on_event(event):
            client.get("/nested")

        with Client(SERVER, on_event=on_event) as client, self.assertRaises(Error) as caught:
            client.get("/outer")
        self.assertEqual(caught.exception.status, "REENTRY")


class Library(unittest.TestCase):
    def test_version(self):
        self.assertRegex(version(), r"^\d+\.\d+\.\d+")


if __name__ == "__main__":
    faulthandler.dump_traceback_later(60, exit=True)
    unittest.main()
