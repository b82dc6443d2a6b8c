"""Bodies of requests and of answers."""

import io
import tempfile
import unittest

import anyhost
from anyhost import Client

from .server import Server


class Uploads(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.__exit__)

    def sent(self, body):
        """Body, length and coding, as they arrived."""
        with Client(self.server.url) as client:
            client.put("/", body)
        request = self.server.requests[-1]
        return request.body, request.headers.get("content-length"), request.headers.get("transfer-encoding")

    def test_bytes(self):
        for body in (b"a\0b", bytearray(b"a\0b"), memoryview(b"a\0b"), "a\0b"):
            self.assertEqual(self.sent(body), (b"a\0b", "3", None))
        self.assertEqual(self.sent(b""), (b"", "0", None))
        large = bytes(range(256)) * 4096
        self.assertEqual(self.sent(large)[0], large)

    def test_files(self):
        large = bytes(i % 251 for i in range(300_000))
        with tempfile.TemporaryFile() as file:
            file.write(large)
            file.seek(7)
            self.assertEqual(self.sent(file), (large[7:], str(len(large) - 7), None))
            self.assertEqual(self.sent(file), (b"", "0", None), "it stands at its end")
        self.assertEqual(self.sent(io.BytesIO(b"0123")), (b"0123", "4", None))
        with self.assertRaisesRegex(TypeError, "binary"):
            self.sent(io.StringIO("text"))

    def test_iterables(self):
        self.assertEqual(self.sent([b"01", b"", b"23"]), (b"0123", "4", None))
        pieces = (piece for piece in (b"01", b"", b"2" * 100_000))
        self.assertEqual(self.sent(pieces), (b"01" + b"2" * 100_000, None, "chunked"))
        self.assertEqual(self.sent(lambda: iter([b"01", b"23"])), (b"0123", None, "chunked"))

    def test_what_can_be_read_again_is_sent_again(self):
        other = Server()
        self.addCleanup(other.__exit__)
        endpoints = [self.server.url, other.url]
        with Client(endpoints, resend="any") as client:
            for body in (b"0123", io.BytesIO(b"0123"), [b"01", b"23"], lambda: [b"01", b"23"]):
                with self.assertRaises(anyhost.AttemptsSpentError) as caught:
                    client.post("/resets", body)
                self.assertEqual(len(caught.exception.attempts), 2)
            self.assertEqual({it.body for it in self.server.requests + other.requests}, {b"0123"})
            with self.assertRaises(anyhost.NotReplayableError):
                client.post("/resets", iter([b"0123"]))

    def test_a_body_that_raises(self):
        def broken():
            yield b"01"
            raise ZeroDivisionError("planted")

        class Short(io.BytesIO):
            def read(self, size=-1):
                return b""

        with Client(self.server.url) as client:
            for body in (broken(), broken):
                with self.assertRaisesRegex(ZeroDivisionError, "planted"):
                    client.post("/", body)
            with self.assertRaises(TypeError):
                client.post("/", ["text"])
            with self.assertRaises(anyhost.BodySourceError):
                client.post("/", Short(b"0123"))
            self.assertEqual(client.get("/").status, 200)
        self.assertEqual(self.server.seen(), ["GET /"])


class Streams(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.__exit__)
        self.client = Client(self.server.url)
        self.addCleanup(self.client.close)

    def test_a_stream_is_a_file(self):
        large = bytes(i % 251 for i in range(1 << 20))
        with self.client.stream("GET", "/large") as stream:
            self.assertEqual((stream.status, stream.head.content_length), (200, 1 << 20))
            self.assertEqual(stream.head.headers["set-cookie"], "a=1")
            self.assertEqual(len(stream.head.attempts), 1)
            self.assertEqual(stream.read(10), large[:10])
            buffer = bytearray(5)
            self.assertEqual(stream.readinto(buffer), 5)
            self.assertEqual(bytes(buffer), large[10:15])
            self.assertEqual(stream.read(), large[15:])
            self.assertEqual(stream.read(), b"")
        self.assertRaises(ValueError, stream.read)
        with self.client.stream("POST", "/", [b"one\n", b"two\n"]) as stream:
            self.assertEqual(list(stream), [b"POST / one\n", b"two\n"])

    def test_it_comes_before_its_end(self):
        with self.client.stream("GET", "/stalls") as stream:
            self.assertEqual(stream.read1(100), b"0123")
        self.assertEqual(self.client.get("/").status, 200)

    def test_a_body_that_breaks_off_is_no_end(self):
        with self.client.stream("GET", "/cut") as stream, self.assertRaises(anyhost.BodyError):
            stream.read()

    def test_it_outlives_its_client(self):
        with Client(self.server.url, on_event=lambda event: None) as client:
            stream = client.stream("GET", "/large")
        del client
        with stream:
            self.assertEqual(len(stream.read()), 1 << 20)

    def test_cancel(self):
        cancel = anyhost.Cancel()
        with self.client.stream("GET", "/stalls", cancel=cancel) as stream:
            self.assertEqual(stream.read1(100), b"0123")
            cancel.trigger()
            with self.assertRaises(anyhost.CancelledError):
                stream.read()
