"""An HTTP server with a thread for each connection that works 2 ms for an answer: python busy_server.py PORT"""

import hashlib
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Busy(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self) -> None:
        digest = b"x"
        for _ in range(2000):
            digest = hashlib.md5(digest).digest()
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, format: str, *args: object) -> None:
        pass


ThreadingHTTPServer.request_queue_size = 256
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Busy).serve_forever()
