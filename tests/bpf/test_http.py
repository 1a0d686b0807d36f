"""The HTTP side of a running exporter: formats, paths, and clients that do not behave."""

import socket
import threading
import time
import unittest

from exporter import OPENMETRICS, Exporter, config, setUpModule, target
from scrape import parse
from victim import Victim, wait_until

BAD_CLIENTS = 200
SCRAPE_SECONDS = 10.0  # meant: 1 s; the machine may be busy, and time-outs are of 30 s
TEXT = "text/plain; version=0.0.4; charset=utf-8"
OM = "application/openmetrics-text; version=1.0.0; charset=utf-8"
ACCEPT = {
    None: TEXT,
    "*/*": TEXT,
    "": TEXT,
    "nonsense;;;,": TEXT,
    "text/plain": TEXT,
    OPENMETRICS: OM,  # Prometheus 2.42
    "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;"
    "q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2": OM,  # 2.53
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
    "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;"
    "escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2": OM,  # 3.5
    "application/openmetrics-text;version=1.0.0;q=0,text/plain;version=0.0.4": TEXT,
    "text/plain;version=0.0.4;q=0.9,application/openmetrics-text;version=1.0.0;q=0.1": TEXT,
}


class Http(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.victim = Victim("sleeps", 1)
        cls.exporter = Exporter(config(target("sleeps", "sleep_1ms", "sleep_10ms")))
        cls.victim.round()

    @classmethod
    def tearDownClass(cls):
        cls.exporter.__exit__(None)
        cls.victim.__exit__()

    def test_content_negotiation(self):
        for accept, expected in ACCEPT.items():
            headers = {} if accept is None else {"Accept": accept}
            status, answer, body = self.exporter.get(headers=headers)
            self.assertEqual((status, answer["Content-Type"]), (200, expected), accept)
            parse(body, openmetrics=expected == OM)

    def test_paths_and_methods(self):
        for path, status in (("/", 200), ("/-/healthy", 200), ("/-/ready", 200), ("/x", 404),
                             ("/metrics?x=y", 200), ("/metrics/", 404)):
            self.assertEqual(self.exporter.get(path)[0], status, path)
        self.assertIn(b"/metrics", self.exporter.get("/")[2])
        for method in ("POST", "PUT", "DELETE"):
            status, headers, _ = self.exporter.get(method=method)
            self.assertEqual(status, 405)
            self.assertIn("GET", headers["Allow"])

    def test_head(self):
        status, headers, body = self.exporter.get(method="HEAD")
        self.assertEqual((status, body), (200, b""))
        self.assertEqual(headers["Content-Type"], TEXT)

    def test_scrapes_at_the_same_time_agree(self):
        counts, errors = [], []

        def scrape():
            try:
                counts.append(self.exporter.histogram("sleep_1ms").count)
            except Exception as error:  # pylint: disable=broad-except
                errors.append(error)
        threads = [threading.Thread(target=scrape) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((errors, set(counts), len(counts)), ([], {1}, 20))

    def test_process_metrics(self):
        now = self.exporter.scrape()
        started = now.value("process_start_time_seconds")
        self.assertLess(abs(time.time() - started), 600)
        self.assertGreater(now.value("process_resident_memory_bytes"), 1 << 20)
        self.assertGreaterEqual(now.value("process_open_fds"), 5)
        self.assertGreaterEqual(now.value("process_cpu_seconds_total"), 0)
        now.value("uprobe_exporter_build_info")
        now.value("uprobe_exporter_config_last_reload_successful")

    def bad_clients(self, talk):
        """Many clients that do what talk(socket) does and then nothing: a scrape still works."""
        e = self.exporter
        before = e.open_files()
        clients = []
        try:
            for _ in range(BAD_CLIENTS):
                client = socket.create_connection(("127.0.0.1", e.port), timeout=60)
                clients.append(client)
                talk(client)
            for _ in range(3):
                begin = time.monotonic()
                e.scrape()
                self.assertLess(time.monotonic() - begin, SCRAPE_SECONDS)
        finally:
            for client in clients:
                client.close()
        wait_until(lambda: e.open_files() <= before, 60, "open files back to the baseline")

    def test_clients_that_never_read(self):
        self.bad_clients(lambda client: client.send(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"))

    def test_clients_that_ask_much_and_never_read(self):
        def talk(client):
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            client.send(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 50)
        self.bad_clients(talk)

    def test_clients_that_say_nothing(self):
        self.bad_clients(lambda client: None)

    def test_clients_that_stop_half_way(self):
        self.bad_clients(lambda client: client.send(b"GET /metrics HTT"))

    def test_garbage(self):
        for request in (b"\x00" * 1000, b"GET\r\n\r\n", b"GET /metrics HTTP/9.9\r\n\r\n",
                        b"GET " + b"/a" * 40000 + b" HTTP/1.1\r\n\r\n",
                        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20000 + b"\r\n"):
            with socket.create_connection(("127.0.0.1", self.exporter.port), timeout=5) as client:
                try:
                    client.sendall(request)
                    client.shutdown(socket.SHUT_WR)
                    client.recv(65536)
                except OSError:
                    pass
        self.exporter.scrape()

    def test_http_1_0(self):
        with socket.create_connection(("127.0.0.1", self.exporter.port), timeout=5) as client:
            client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            answer = b""
            while more := client.recv(65536):
                answer += more
        head, body = answer.split(b"\r\n\r\n", 1)
        self.assertIn(b" 200 ", head.split(b"\r\n")[0])
        self.assertNotIn(b"chunked", head.lower())
        parse(body)


class Listening(unittest.TestCase):
    def test_several_addresses(self):
        listen = ["127.0.0.1:0", "127.0.0.2:0", "[::1]:0"]
        with Exporter(config(target("threads", "work")), listen=listen) as e:
            for host, port in zip(("127.0.0.1", "127.0.0.2", "::1"), e.ports):
                self.assertEqual(e.get("/-/ready", host=host, port=port)[0], 200, host)

    def test_wildcard_is_both_families(self):
        with Exporter(config(target("threads", "work")), listen=[":0"]) as e:
            for host in ("127.0.0.1", "::1"):
                self.assertEqual(e.get("/-/ready", host=host)[0], 200, host)

    def test_telemetry_path(self):
        with Exporter(config(target("threads", "work")),
                      arguments=["--web.telemetry-path=/numbers"]) as e:
            self.assertEqual(e.get("/metrics")[0], 404)
            self.assertEqual(e.get("/numbers")[0], 200)
            self.assertIn(b"/numbers", e.get("/")[2])
