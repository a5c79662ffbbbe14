"""The front's decision about tokens, against an authorization server that is there, slow, gone, wrong or changes its
keys. The decision is asked of the program check_token, which has no HTTP around it."""

import http.server
import json
import os
import pathlib
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest

from authorization_server import AuthorizationServer
from harness import BIN, LinesOf, PATIENCE

RESOURCE = "https://front.example/mcp"
SLOW = 5  # seconds that a test waits for what is allowed a fraction of one


class CheckToken:
    """The program, with a question asked and answered by its number; what it reports is kept."""

    def __init__(self, folder, policy, **options):
        path = pathlib.Path(folder) / "oauth.json"
        path.write_text(json.dumps(policy))
        arguments = [str(part) for name, value in options.items() for part in (f"--{name.replace('_', '-')}", value)]
        self._process = subprocess.Popen([BIN / "check_token", path, *arguments], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, text=True)
        self._lines = LinesOf(self._process.stdout)
        self._answers = {}
        self._asked = 0
        self.reports = []
        self.metadata = json.loads(self._lines.next())["metadata"]

    def ask(self, token):
        self._asked += 1
        self._process.stdin.write(json.dumps({"id": self._asked, "authorization": f"Bearer {token}"}) + "\n")
        self._process.stdin.flush()
        return self._asked

    def answer(self, number):
        while number not in self._answers:
            line = json.loads(self._lines.next())
            if "report" in line:
                self.reports.append((line["report"], line["why"]))
            else:
                self._answers[line["id"]] = line
        return self._answers[number]

    def judge(self, token):
        return self.answer(self.ask(token))

    def stop(self):
        self._process.stdin.close()
        code = self._process.wait(PATIENCE)
        self._process.stdout.close()
        return code


class OauthCase(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="repobridge-test-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name).resolve()
        self.server = AuthorizationServer(RESOURCE)
        self.addCleanup(self.server.stop)

    def policy(self, **changes):
        return {"issuer": self.server.issuer, "resource": RESOURCE, "jwks_url": f"{self.server.issuer}/keys",
                "jwks_file": "", "jwks_ca_file": "", "algorithms": ["RS256"], "allowed_subjects": ["me"],
                "login_claim": "sub", "leeway_seconds": 0, **changes}

    def start(self, policy=None, **options):
        program = CheckToken(self.folder, policy or self.policy(), **options)

        def stop():
            self.assertEqual(program.stop(), 0, "the program ends well, its sanitizers included")
        self.addCleanup(stop)
        return program

    def assert_let_in(self, answer, write=True):
        self.assertEqual({**answer, "id": 0},
                         {"id": 0, "allowed": True, "login": "me", "mode": "oauth", "write": write})

    def assert_refused(self, answer, status, message):
        self.assertEqual((answer["allowed"], answer.get("status"), answer.get("message")), (False, status, message))


class Keys(OauthCase):
    UNKNOWN = "the token's key is not known"
    GONE = "the authorization server's keys cannot be had now; try again later"

    def test_are_fetched_when_a_token_comes_and_once(self):
        program = self.start()
        self.assertEqual(self.server.keys_asked, [])

        self.assert_let_in(program.judge(self.server.token()))
        self.assert_let_in(program.judge(self.server.token(scope="repo:read")), write=False)
        self.assertEqual(len(self.server.keys_asked), 1)

    def test_rotate(self):
        program = self.start(retry_ms=1)
        old = self.server.token()
        self.assert_let_in(program.judge(old))
        self.server.key = self.server.new_key("second")
        self.server.published.append(self.server.key)

        self.assert_let_in(program.judge(self.server.token()))
        self.assert_let_in(program.judge(old))
        del self.server.published[0]
        self.server.key = self.server.new_key("third")
        self.server.published.append(self.server.key)
        self.assert_let_in(program.judge(self.server.token()))
        self.assert_refused(program.judge(old), 401, self.UNKNOWN)

    def test_are_not_fetched_for_every_token_of_a_stranger(self):
        stranger = self.server.new_key("stranger")
        program = self.start(retry_ms=600000)
        self.assert_let_in(program.judge(self.server.token()))

        for number in range(20):
            answer = program.judge(stranger.token(self.server.claims(), kid=f"k{number}"))
            self.assert_refused(answer, 401, self.UNKNOWN)
        self.assertEqual(len(self.server.keys_asked), 1)

    def test_a_key_of_the_same_name_proves_nothing(self):
        stranger = self.server.new_key("stranger")
        program = self.start()

        answer = program.judge(stranger.token(self.server.claims(), kid=self.server.key.kid))

        self.assert_refused(answer, 401, "the token's signature does not verify")

    def test_known_ones_serve_while_the_server_is_slow(self):
        gate = threading.Event()
        self.addCleanup(gate.set)
        program = self.start(retry_ms=1)
        known = self.server.token()
        self.assert_let_in(program.judge(known))
        self.server.key = self.server.new_key("second")
        self.server.published.append(self.server.key)

        def slowly(request):
            gate.wait(PATIENCE)
            self.server.publish(request)
        self.server.answer_keys = slowly
        waits = program.ask(self.server.token())
        with self.server.asked:
            self.assertTrue(self.server.asked.wait_for(lambda: len(self.server.keys_asked) == 2, PATIENCE))

        self.assert_let_in(program.judge(known))
        gate.set()
        self.assert_let_in(program.answer(waits))

    def test_a_server_that_does_not_answer_is_waited_for_no_longer_than_allowed(self):
        gate = threading.Event()
        self.addCleanup(gate.set)
        self.server.answer_keys = lambda request: gate.wait(PATIENCE)
        program = self.start(limit_ms=200)

        begun = time.monotonic()
        self.assert_refused(program.judge(self.server.token()), 503, self.GONE)
        self.assertLess(time.monotonic() - begun, SLOW)
        self.assertEqual(program.reports, [("OAUTH_KEYS_UNAVAILABLE", "no answer in time")])

    def test_a_server_that_drips_is_not_waited_for_either(self):
        gate = threading.Event()
        self.addCleanup(gate.set)

        def drip(request):
            request.send_response(200)
            request.end_headers()
            while not gate.wait(0.02):
                request.wfile.write(b" ")
        self.server.answer_keys = drip
        program = self.start(limit_ms=300)

        self.assert_refused(program.judge(self.server.token()), 503, self.GONE)
        self.assertEqual(program.reports, [("OAUTH_KEYS_UNAVAILABLE", "no answer in time")])

    def test_the_program_ends_while_a_server_does_not_answer(self):
        gate = threading.Event()
        self.addCleanup(gate.set)
        self.server.answer_keys = lambda request: gate.wait(PATIENCE)
        program = CheckToken(self.folder, self.policy(), limit_ms=60000)
        program.ask(self.server.token())
        with self.server.asked:
            self.assertTrue(self.server.asked.wait_for(lambda: self.server.keys_asked, PATIENCE))

        begun = time.monotonic()
        self.assertEqual(program.stop(), 0)
        self.assertLess(time.monotonic() - begun, SLOW)

    def test_known_ones_serve_while_the_server_is_gone(self):
        program = self.start(retry_ms=1, refresh_ms=1)
        self.assert_let_in(program.judge(self.server.token()))
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))  # not listening: refused
            gone = f"http://127.0.0.1:{nobody.getsockname()[1]}/keys"
            unreachable = self.start(self.policy(jwks_url=gone))
            self.assert_refused(unreachable.judge(self.server.token()), 503, self.GONE)
            self.assertEqual(unreachable.reports, [("OAUTH_KEYS_UNAVAILABLE", "no connection")])
        self.server.answer_keys = lambda request: request.send_json(500, {"error": "broken"})

        self.assert_refused(program.judge(self.server.new_key("second").token(self.server.claims())), 503, self.GONE)
        self.assert_let_in(program.judge(self.server.token()))

    def assert_not_taken(self, answer_keys, why):
        self.server.answer_keys = answer_keys
        program = self.start()
        self.assert_refused(program.judge(self.server.token()), 503, self.GONE)
        self.assertEqual(program.reports, [("OAUTH_KEYS_UNAVAILABLE", why)])

    def test_wrong_documents_are_not_taken(self):
        keys = [self.server.key.jwk]
        too_long = "the answer is too long"
        documents = {
            "a page": (b"<html>sign in</html>", "the answer is no JSON object"),
            "nothing": (b"", "the answer is no JSON object"),
            "a list": (json.dumps(keys).encode(), "the answer is no JSON object"),
            "no list": (b'{"keys": {}}', "the answer has no list of keys"),
            "no key": (b'{"keys": []}', "no key is for signatures of a known kind"),
            "a secret": (b'{"keys": [{"kty": "oct", "k": "c2VjcmV0", "kid": "first"}]}',
                         "no key is for signatures of a known kind"),
            "a private key": (json.dumps({"keys": [{**keys[0], "d": "AAAA"}]}).encode(),
                              "a private key is among them"),
            "keys twice": (b'{"keys": [], "keys": []}', "the answer is no JSON object"),
            "too many": (json.dumps({"keys": keys * 101}).encode(), "there are more than a hundred keys"),
            "huge": (json.dumps({"keys": keys, "more": "x" * 300000}).encode(), too_long),
        }
        for name, (document, why) in documents.items():
            with self.subTest(name):
                self.assert_not_taken(lambda request, data=document: request.send_bytes(200, data), why)

    def test_a_huge_answer_of_unsaid_length_is_not_taken(self):
        def flood(request):
            request.send_response(200)
            request.end_headers()
            for _ in range(1000):
                request.wfile.write(b" " * 65536)
        self.assert_not_taken(flood, "the answer is too long")

    def test_an_answer_other_than_200_is_not_taken(self):
        for status in (204, 401, 404, 500):
            with self.subTest(status):
                self.assert_not_taken(lambda request, code=status: request.send_bytes(
                    code, json.dumps({"keys": [self.server.key.jwk]}).encode()), "the answer is not 200")

    def test_a_redirect_is_not_followed(self):
        for target in ("/keys", "file:///etc/hostname", "http://localhost:1/keys"):
            with self.subTest(target):
                self.server.keys_asked.clear()

                def redirect(request, place=target):
                    request.send_response(302)
                    request.send_header("Location", place)
                    request.send_header("Content-Length", "0")
                    request.end_headers()
                self.assert_not_taken(redirect, "the answer is not 200")
                self.assertEqual(len(self.server.keys_asked), 1)

    def test_a_proxy_of_the_environment_is_not_asked_about_this_machine(self):
        with socket.socket() as proxy:
            proxy.bind(("127.0.0.1", 0))
            os.environ["http_proxy"] = f"http://127.0.0.1:{proxy.getsockname()[1]}"
            self.addCleanup(os.environ.pop, "http_proxy")
            self.assert_let_in(self.start().judge(self.server.token()))


class KeysOfAFile(OauthCase):
    def write(self, keys):
        path = self.folder / "keys.json"
        path.write_text(json.dumps({"keys": [key.jwk for key in keys]}))
        path.chmod(0o600)
        return str(path)

    def test_rotate_when_the_file_does(self):
        path = self.write([self.server.key])
        program = self.start(self.policy(jwks_url="", jwks_file=path), retry_ms=1)
        self.assert_let_in(program.judge(self.server.token()))
        self.server.key = self.server.new_key("second")
        self.write([self.server.key])

        self.assert_let_in(program.judge(self.server.token()))
        self.assertEqual(self.server.keys_asked, [])

    def test_are_not_taken_from_a_file_that_others_may_write(self):
        path = self.write([self.server.key])
        os.chmod(path, 0o666)
        program = self.start(self.policy(jwks_url="", jwks_file=path))

        self.assert_refused(program.judge(self.server.token()), 503, Keys.GONE)
        self.assertEqual([code for code, _ in program.reports], ["OAUTH_KEYS_UNAVAILABLE"])


class KeysOverTls(OauthCase):
    """A server with a certificate of its own making."""

    def setUp(self):
        super().setUp()
        self.certificate = self.folder / "server.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
                        "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", self.certificate,
                        "-out", self.folder / "ca.pem"], check=True, capture_output=True)
        with self.certificate.open("a") as file:
            file.write((self.folder / "ca.pem").read_text())
        keys = json.dumps({"keys": [self.server.key.jwk]}).encode()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Length", str(len(keys)))
                self.end_headers()
                self.wfile.write(keys)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.handle_error = lambda *_: None  # a client that does not trust it hangs up
        self.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)

    def judge(self, host, ca_file):
        program = self.start(self.policy(jwks_url=f"https://{host}:{self.port}/keys", jwks_ca_file=ca_file))
        return program.judge(self.server.token()), program.reports

    def test_are_taken_when_the_certificate_is_proven(self):
        answer, _ = self.judge("localhost", str(self.folder / "ca.pem"))
        self.assert_let_in(answer)

    def test_are_not_taken_otherwise(self):
        for host, ca_file in (("localhost", ""), ("127.0.0.1", str(self.folder / "ca.pem")),
                              ("localhost", "/etc/ssl/certs/ca-certificates.crt")):
            with self.subTest(host=host, ca_file=ca_file):
                answer, reports = self.judge(host, ca_file)
                self.assert_refused(answer, 503, Keys.GONE)
                self.assertEqual(reports, [("OAUTH_KEYS_UNAVAILABLE", "its certificate is not proven")])


class Decision(OauthCase):
    def test_each_claim_counts(self):
        program = self.start()
        now = int(time.time())
        for changes, status, message in (
                ({"iss": "https://other.example"}, 401, "the token is of another issuer"),
                ({"aud": "https://other.example"}, 401, "the token is for another resource"),
                ({"aud": None}, 401, "the token is for another resource"),
                ({"exp": now - 1}, 401, "the token has expired"),
                ({"exp": None}, 401, "the token has no end"),
                ({"nbf": now + 600}, 401, "the token is not valid yet"),
                ({"sub": "them"}, 403, "the token's subject is not allowed here"),
                ({"scope": "repo:write"}, 403, "the token lacks the scope repo:read")):
            with self.subTest(changes):
                self.assert_refused(program.judge(self.server.token(**changes)), status, message)
        self.assert_let_in(program.judge(self.server.token()))

    def test_tells_where_to_begin(self):
        program = self.start()
        place = "/.well-known/oauth-protected-resource"

        answer = program.judge("opaque")

        self.assertEqual(answer["www_authenticate"],
                         'Bearer error="invalid_token", error_description="the token is no signed JWT", '
                         f'resource_metadata="https://front.example{place}/mcp", scope="repo:read repo:write"')
        self.assertEqual(set(program.metadata), {place, f"{place}/mcp"})
        document = json.loads(program.metadata[place])
        self.assertEqual((document["resource"], document["authorization_servers"]), (RESOURCE, [self.server.issuer]))


if __name__ == "__main__":
    unittest.main()
