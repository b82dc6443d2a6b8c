"""A server of the tests: what it does is told by the path, and what it saw is counted."""

import contextlib
import socket
import socketserver
import struct
import threading


class Request:
    def __init__(self, method, target, headers, body):
        self.method, self.target, self.headers, self.body = method, target, headers, body


class _Handler(socketserver.StreamRequestHandler):
    def handle(self):
        # A peer that goes away in the midst of a request is no fault of the server.
        with contextlib.suppress(OSError, ValueError):
            while self._exchange():
                pass

    def _exchange(self):
        line = self.rfile.readline().decode().split()
        if not line:
            return False
        method, target, _ = line
        headers = {}
        while (field := self.rfile.readline().decode("latin-1").rstrip("\r\n")):
            name, value = field.split(":", 1)
            name, value = name.lower(), value.strip()
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        path = target.split("?")[0]
        server = self.server
        if path == "/unread":
            server.saw(Request(method, target, headers, None))
            server.released.wait()
            return False
        body = self._body(headers)
        server.saw(Request(method, target, headers, body))
        if path == "/resets":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return False
        if path == "/holds":
            server.released.wait()
            return False
        if path == "/stalls":  # After a part of the body.
            self._send(200, b"0123", length=10)
            server.released.wait()
            return False
        if path == "/cut":
            self._send(200, b"0123", length=10)
            return False
        if path.startswith("/status/"):
            self._send(int(path.split("/")[2]), b"no such")
            return True
        if path == "/large":
            self._send(200, bytes(i % 251 for i in range(1 << 20)))
            return True
        text = f"{method} {target} ".encode() + body
        self._send(200, b"" if method == "HEAD" else text, length=len(text))
        return True

    def _body(self, headers):
        if headers.get("transfer-encoding") == "chunked":
            body = b""
            while (size := int(self.rfile.readline(), 16)):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body
        length = int(headers.get("content-length", 0))
        body = self.rfile.read(length)
        if len(body) < length:
            raise ValueError("half a body")
        return body

    def _send(self, status, body, length=None):
        head = (
            f"HTTP/1.1 {status} x\r\nContent-Length: {len(body) if length is None else length}\r\n"
            "Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nX-Bytes: grün\r\n\r\n"
        )
        self.wfile.write(head.encode() + body)


class Server(socketserver.ThreadingTCPServer):
    """Answers with method, target and body, unless the path is one of the handler's."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = "http://{}:{}".format(*self.server_address)
        self.requests = []
        self.connections = 0
        self.released = threading.Event()
        self._arrived = threading.Condition()
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def get_request(self):
        self.connections += 1
        return super().get_request()

    def shutdown_request(self, request):
        # Without the shutdown() of the base: a close that is to reset may not say goodbye before.
        request.close()

    def saw(self, request):
        with self._arrived:
            self.requests.append(request)
            self._arrived.notify_all()

    def wait_for(self, count, within=5.0):
        """Until so many requests have arrived."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: len(self.requests) >= count, within), self.requests

    def seen(self):
        return [f"{it.method} {it.target}" for it in self.requests]

    def __exit__(self, *_):
        self.released.set()
        self.shutdown()
        self.server_close()


def refusing():
    """A base URL at which nobody listens."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return "http://127.0.0.1:{}".format(unused.getsockname()[1])


@contextlib.contextmanager
def swallowing():
    """A base URL at which connections are never accepted: the queue of the listener is full."""
    with socket.socket() as listener, contextlib.ExitStack() as stack:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(8):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield "http://127.0.0.1:{}".format(listener.getsockname()[1])
