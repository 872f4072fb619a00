"""The program of python.ts. Usage: python-server.py ENGINE PORT PROCESSES"""

import io
import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer


def weasyprint():
    from weasyprint import HTML
    from weasyprint.text.fonts import FontConfiguration

    fonts = FontConfiguration()
    return lambda html: HTML(string=html).write_pdf(font_config=fonts)


def plutoprint():
    from plutoprint import PAGE_SIZE_A4, Book

    def pdf_of(html):
        book, pdf = Book(PAGE_SIZE_A4), io.BytesIO()
        book.load_html(html)
        book.write_to_pdf_stream(pdf)
        return pdf.getvalue()

    return pdf_of


def pyfulgur():
    from pyfulgur import Engine

    return Engine().render_html


ENGINES = {"weasyprint": weasyprint, "plutoprint": plutoprint, "pyfulgur": pyfulgur}


class Handler(BaseHTTPRequestHandler):
    """Answers one request a connection, so that whichever process is free takes the next one."""

    def do_GET(self):
        self.answer(b"ok")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.answer(pdf_of(body.decode()))

    def answer(self, body):
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


engine, port, processes = sys.argv[1:]
pdf_of = ENGINES[engine]()
server = HTTPServer(("127.0.0.1", int(port)), Handler)
for _ in range(int(processes) - 1):
    if os.fork() == 0:
        break
server.serve_forever()
