# level: full
# variants: asan tsan
"""HTTPS: certificates that are served, reloaded, refused; who speaks no TLS; what is different behind it."""
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest
import warnings

import graphs
from daemon import JSON, PATIENCE_S, REMATD, Closed, Daemon, format_request, run

TINY = graphs.encode(graphs.tiny())


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, capture_output=True, timeout=PATIENCE_S)


def make_pair(folder, name):
    """A self-signed certificate for localhost: (certificate, key)."""
    cert, key = os.path.join(folder, name + ".crt"), os.path.join(folder, name + ".key")
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", cert,
            "-days", "30", "-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")
    os.chmod(key, 0o600)
    return cert, key


class WithPair(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.cert, cls.key = make_pair(cls.folder.name, "first")
        cls.other_cert, cls.other_key = make_pair(cls.folder.name, "second")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def trust(self, *certs):
        context = ssl.create_default_context()
        for cert in certs or (self.cert,):
            context.load_verify_locations(cert)
        return context

    def start(self, *flags, cert=None, key=None):
        daemon = Daemon("--tls-cert", cert or self.cert, "--tls-key", key or self.key, *flags)
        daemon.tls = self.trust(self.cert, self.other_cert)
        self.addCleanup(daemon.stop)
        return daemon


class TestServing(WithPair):
    def test_plans(self):
        daemon = self.start()
        self.assertTrue(daemon.first_line.startswith("listening on https://127.0.0.1:"), daemon.first_line)
        with Daemon() as plain:
            want = plain.plan(TINY).body
        self.assertEqual(daemon.plan(TINY).body, want)
        with daemon.connect() as connection:
            for _ in range(3):
                connection.send(format_request("POST", "/v1/plans", {"Host": "localhost", **JSON}, TINY))
                self.assertEqual(connection.read_response().body, want)

    def test_checked_by_a_real_client(self):
        daemon = self.start()
        client = http.client.HTTPSConnection("localhost", daemon.address[1], context=self.trust(), timeout=PATIENCE_S)
        client.request("GET", "/version")
        self.assertEqual(json.loads(client.getresponse().read())["pytorch_semantics"], "2.13")
        client.close()
        with self.assertRaises(ssl.SSLCertVerificationError):
            stranger = ssl.create_default_context()
            with socket.create_connection(daemon.address) as raw:
                stranger.wrap_socket(raw, server_hostname="localhost")

    def test_large_bodies_both_ways(self):
        daemon = self.start()
        body = graphs.encode(graphs.chain(20000))
        with Daemon() as plain:
            want = plain.plan(body, {"Prefer": "wait=60"})
        got = daemon.plan(body, {"Prefer": "wait=60"})
        self.assertEqual((got.status, got.body), (200, want.body))

    def test_old_versions_are_refused(self):
        daemon = self.start()
        for version, works in ((ssl.TLSVersion.TLSv1_1, False), (ssl.TLSVersion.TLSv1_2, True), (ssl.TLSVersion.TLSv1_3, True)):
            context = self.trust()
            context.set_ciphers("DEFAULT:@SECLEVEL=0")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                context.minimum_version = context.maximum_version = version
            with socket.create_connection(daemon.address, timeout=PATIENCE_S) as raw:
                if works:
                    with context.wrap_socket(raw, server_hostname="localhost") as wrapped:
                        self.assertIn(wrapped.version(), ("TLSv1.2", "TLSv1.3"))
                else:
                    with self.assertRaises((ssl.SSLError, ConnectionError)):
                        context.wrap_socket(raw, server_hostname="localhost")

    def test_plain_http_is_not_answered_in_the_clear(self):
        daemon = self.start()
        with socket.create_connection(daemon.address, timeout=PATIENCE_S) as raw:
            raw.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            data = b""
            try:
                while piece := raw.recv(4096):
                    data += piece
            except ConnectionError:
                pass
        self.assertNotIn(b"HTTP/", data)
        self.assertEqual(daemon.get("/livez").status, 200)

    def test_waiting_clients(self):
        """Suspended and resumed behind TLS; many at a time."""
        daemon = self.start("--workers", 2)
        body = graphs.slow(3000)
        connections = [daemon.start_plan(body + b" " * i, {"Prefer": "wait=60"}) for i in range(12)]
        for connection in connections:
            self.assertEqual(connection.read_response().status, 200)
            connection.close()

    def test_waiting_clients_that_leave(self):
        daemon = self.start("--workers", 1)
        first = daemon.start_plan(graphs.slow(100000), {"Prefer": "wait=60"})
        second = daemon.start_plan(graphs.slow(100000) + b" ", {"Prefer": "wait=60"})
        while daemon.get("/v1/ops").json["connections"]["requests"] < 3:  # this one, too
            self.assertEqual(daemon.log(event="request", route="/v1/plans"), [])
        first.close()
        second.close()
        daemon.wait_log(2, event="request", outcome="client-gone")
        self.assertEqual(daemon.plan(TINY).status, 200)

    def test_streams_of_events(self):
        daemon = self.start("--heartbeat", 1)
        location = daemon.plan(graphs.slow(60000), {"Prefer": "respond-async"}).headers["location"]
        with daemon.connect() as connection:
            connection.send(format_request("GET", location + "/events", {"Host": "localhost", "Connection": "close"}))
            with self.assertRaises(Closed):
                while True:
                    connection.receive()
            self.assertIn(b"succeeded", connection.buffer)

    def test_own_origin_is_https(self):
        daemon = self.start()
        self.assertEqual(daemon.plan(TINY, {"Origin": "https://" + daemon.host}).status, 200)
        self.assertEqual(daemon.plan(TINY, {"Origin": "https://evil.example"}).status, 403)


class TestRefusedOnTheSocket(WithPair):
    """What is otherwise written past the library must not be written in the clear: the connection just ends."""

    def read_all(self, connection):
        try:
            while True:
                connection.receive()
        except (Closed, TimeoutError) as error:
            self.assertNotIsInstance(error, TimeoutError)
        return connection.buffer

    def test_slow_header_and_body(self):
        daemon = self.start("--header-timeout", 1, "--body-timeout", 1)
        for data in (b"GET /livez HTTP/1.1\r\n",
                     b"POST /v1/plans HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"):
            with daemon.connect() as connection:
                connection.send(data)
                self.assertEqual(self.read_all(connection), b"")
        self.assertEqual(daemon.get("/livez").status, 200)

    def test_no_handshake(self):
        daemon = self.start("--header-timeout", 1)
        with socket.create_connection(daemon.address, timeout=PATIENCE_S) as raw:
            self.assertEqual(raw.recv(100), b"")
        self.assertEqual(daemon.get("/livez").status, 200)

    def test_too_many_connections(self):
        daemon = self.start("--max-connections", 8)
        held = [daemon.connect() for _ in range(8)]
        with socket.create_connection(daemon.address, timeout=PATIENCE_S) as raw:
            try:
                self.assertEqual(raw.recv(100), b"")
            except ConnectionError:
                pass
        for connection in held:
            connection.close()

    def test_many_arguments(self):
        daemon = self.start()
        with daemon.connect() as connection:
            connection.send(b"GET /livez?" + b"a&" * 3000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertEqual(connection.read_response().status, 400)

    def test_stop_while_a_body_is_sent(self):
        daemon = Daemon("--tls-cert", self.cert, "--tls-key", self.key)
        daemon.tls = self.trust()
        with daemon.connect() as connection:
            connection.send(format_request("POST", "/v1/plans", {"Host": "localhost", **JSON, "Content-Length": "100"}) + b"{")
            with daemon.connect() as probe:
                probe.send(format_request("GET", "/livez", {"Host": "localhost"}))
                probe.read_response()
            daemon.signal()
            self.assertEqual(self.read_all(connection), b"")
        daemon.finish()


class TestReload(WithPair):
    def subject(self, daemon):
        with daemon.connect() as connection:
            return dict(x[0] for x in connection.socket.getpeercert()["subject"])["commonName"]

    def setUp(self):
        self.now = tempfile.TemporaryDirectory()
        self.addCleanup(self.now.cleanup)
        self.here = os.path.join(self.now.name, "cert"), os.path.join(self.now.name, "key")
        self.put(self.cert, self.key)

    def put(self, *paths):
        for source, target in zip(paths, self.here):
            with open(source, "rb") as file:
                content = file.read()
            with open(target + ".new", "wb") as file:
                file.write(content)
            os.chmod(target + ".new", 0o600)
            os.replace(target + ".new", target)

    def reload(self, daemon):
        n = len(daemon.log(event="reload"))
        daemon.signal(signal.SIGHUP)
        return daemon.wait_log(n + 1, event="reload")[-1]

    def test_new_certificate(self):
        daemon = self.start(cert=self.here[0], key=self.here[1])
        self.assertEqual(self.subject(daemon), "first")
        with daemon.connect() as old:
            self.put(self.other_cert, self.other_key)
            self.assertEqual(self.reload(daemon)["outcome"], "ok")
            self.assertEqual(self.subject(daemon), "second")
            old.send(format_request("GET", "/livez", {"Host": "localhost"}))  # goes on
            self.assertEqual(old.read_response().status, 200)

    def test_a_bad_pair_changes_nothing(self):
        daemon = self.start(cert=self.here[0], key=self.here[1])
        self.put(self.other_cert, self.key)
        line = self.reload(daemon)
        self.assertEqual((line["outcome"], line["level"]), ("kept", "error"))
        self.assertIn("is not the key", line["message"])
        self.assertEqual(self.subject(daemon), "first")

    def test_reload_during_handshakes(self):
        daemon = self.start(cert=self.here[0], key=self.here[1])
        seen, faults = set(), []

        def ask():
            for _ in range(40):
                try:
                    seen.add(self.subject(daemon))
                except OSError as error:
                    faults.append(error)

        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        i = 0
        while any(thread.is_alive() for thread in threads):
            self.put(*((self.cert, self.key), (self.other_cert, self.other_key))[i % 2])
            daemon.signal(signal.SIGHUP)
            time.sleep(0.01)
            i += 1
        for thread in threads:
            thread.join()
        self.assertEqual(faults, [])
        self.assertLessEqual(seen, {"first", "second"})


class TestStart(WithPair):
    def refused(self, *flags, code=1):
        done = run(REMATD, "--listen", "127.0.0.1:0", *flags)
        self.assertEqual((done.returncode, done.stdout), (code, b""), done.stderr)
        return done.stderr.decode()

    def test_files_that_do_not_serve(self):
        empty = os.path.join(self.folder.name, "empty")
        with open(empty, "wb"):
            pass
        for cert, key, flag, word in ((self.cert, self.other_key, "--tls-key", "is not the key of the certificate"),
                                      (self.key, self.key, "--tls-cert", ""), (self.cert, self.cert, "--tls-key", ""),
                                      (empty, self.key, "--tls-cert", ""), (self.cert, empty, "--tls-key", ""),
                                      ("/nonexistent", self.key, "--tls-cert", "No such file"),
                                      (self.cert, "/nonexistent", "--tls-key", "No such file"),
                                      (self.folder.name, self.key, "--tls-cert", "regular file")):
            with self.subTest(f"{cert} {key}"):
                said = self.refused("--tls-cert", cert, "--tls-key", key)
                self.assertIn(flag, said)
                self.assertIn(word, said)
                self.assertGreater(len(said.strip().rsplit(": ", 1)[-1]), 5)

    def test_encrypted_key(self):
        locked = os.path.join(self.folder.name, "locked.key")
        openssl("ec", "-in", self.key, "-aes128", "-passout", "pass:secret", "-out", locked)
        self.assertIn("--tls-key", self.refused("--tls-cert", self.cert, "--tls-key", locked))

    def test_one_without_the_other(self):
        self.assertIn("--tls-key", self.refused("--tls-cert", self.cert, code=2))
        self.assertIn("--tls-cert", self.refused("--tls-key", self.key, code=2))

    def test_chain_in_the_wrong_order(self):
        both = os.path.join(self.folder.name, "both.crt")
        with open(both, "wb") as file:
            for path in (self.cert, self.other_cert):
                with open(path, "rb") as source:
                    file.write(source.read())
        self.assertIn("must come first", self.refused("--tls-cert", both, "--tls-key", self.key))

    def make_expired(self):
        def path(name):
            return os.path.join(self.folder.name, name)

        with open(path("ca.conf"), "w", encoding="ascii") as file:
            file.write(f"[ca]\ndefault_ca = d\n[d]\ndatabase = {path('index')}\nnew_certs_dir = {self.folder.name}\n"
                       f"serial = {path('serial')}\npolicy = p\n"
                       "[p]\ncommonName = supplied\n")
        with open(path("index"), "w", encoding="ascii"):
            pass
        openssl("req", "-new", "-key", self.key, "-subj", "/CN=expired", "-out", path("csr"))
        openssl("ca", "-batch", "-config", path("ca.conf"), "-selfsign", "-keyfile", self.key, "-in", path("csr"), "-out",
                path("expired.crt"), "-notext", "-create_serial", "-md", "sha256", "-startdate", "20200101000000Z",
                "-enddate", "20200201000000Z")
        return path("expired.crt"), self.key

    def test_expired_certificate_is_a_warning(self):
        cert, key = self.make_expired()
        daemon = Daemon("--tls-cert", cert, "--tls-key", key)
        self.assertIn("expired", daemon.wait_log(event="tls", level="warn")[0]["message"])
        daemon.stop()

    def test_exposed_key_is_a_warning(self):
        cert, key = make_pair(self.folder.name, "exposed")
        os.chmod(key, 0o644)
        daemon = Daemon("--tls-cert", cert, "--tls-key", key)
        self.assertIn("chmod", daemon.wait_log(event="tls", level="warn")[0]["message"])
        daemon.stop()


if __name__ == "__main__":
    unittest.main()
