"""A server of a few lines: each call is a function of the test."""

import http.server
import json
import threading


class Fake:
    """Answers calls as the test says: answers maps "POST /v1/..." to a function of the body and the headers, which
    gives a status and a dictionary, None to end the connection, or a function that writes events: it gets a function
    which sends text, and the connection ends when it returns."""

    def __init__(self, answers):
        fake = self
        self.answers, self.heard = answers, []
        answers.setdefault("POST /v1/sessions", lambda body, headers: (200, {"session": "17"}))

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # a head and a body are two writes

            def log_message(self, *_):
                pass

            def any(self):
                size = int(self.headers.get("Content-Length", 0))
                body = json.loads(self.rfile.read(size) or b"{}")
                key = f"{self.command} {self.path.split('?')[0]}"
                fake.heard.append((key, dict(self.headers), body, self.path))
                answer = fake.answers.get(key, lambda *_: (404, {"code": "not_found", "message": "nothing here"}))
                said = answer(body, self.headers)
                if said is None:
                    self.close_connection = True
                    return
                if callable(said):
                    self.close_connection = True
                    self.send_response(200)
                    self.send_header("Content-Type", "text/event-stream")
                    self.send_header("Transfer-Encoding", "chunked")
                    self.end_headers()
                    said(lambda text: self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text.encode())))
                    return
                text = json.dumps(said[1]).encode() if not isinstance(said[1], bytes) else said[1]
                self.send_response(said[0])
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = any

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # who asked has gone
        self.addr = f"127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def count(self, key):
        return sum(1 for k, *_ in self.heard if k == key)
