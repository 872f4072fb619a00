"""The program of weasyprint.ts. Usage: weasyprint-server.py PORT PROCESSES"""

import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

from weasyprint import HTML
from weasyprint.text.fonts import FontConfiguration

fonts = FontConfiguration()


class Handler(BaseHTTPRequestHandler):
    """Answers one request a connection, so that whichever process is free takes the next one."""

    def do_GET(self):
        self.answer(b"ok")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.answer(HTML(string=body.decode()).write_pdf(font_config=fonts))

    def answer(self, body):
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


port, processes = map(int, sys.argv[1:])
server = HTTPServer(("127.0.0.1", port), Handler)
for _ in range(processes - 1):
    if os.fork() == 0:
        break
server.serve_forever()
