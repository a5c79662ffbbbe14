"""A small OAuth authorization server on loopback: metadata, codes with PKCE, tokens, keys; and each way in which its
keys can be missing. Python's standard library and the openssl program.

As a program (for the clients of tests/clients) it serves until its input ends; its first line of output is
{"issuer": URL}, and it signs in whoever comes as SUBJECT with whatever scopes are asked for:

    authorization_server.py --resource URL --subject SUBJECT
"""

import argparse
import base64
import hashlib
import http.server
import json
import pathlib
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

SCOPES = ["repo:read", "repo:write"]


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class SigningKey:
    """An RSA key pair that the openssl program holds in a file."""

    def __init__(self, folder, kid):
        self.kid = kid
        self.path = pathlib.Path(folder) / f"{kid}.pem"
        subprocess.run(["openssl", "genrsa", "-out", self.path, "2048"], check=True, capture_output=True)
        line = subprocess.run(["openssl", "rsa", "-in", self.path, "-noout", "-modulus"], check=True,
                              capture_output=True, text=True).stdout
        self.modulus = bytes.fromhex(line.strip().removeprefix("Modulus="))

    @property
    def jwk(self):
        return {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": self.kid, "n": base64url(self.modulus),
                "e": base64url((65537).to_bytes(3, "big"))}

    def token(self, claims, **header):
        parts = [{"alg": "RS256", "typ": "at+jwt", "kid": self.kid, **header}, claims]
        signed = ".".join(base64url(json.dumps(part).encode()) for part in parts)
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.path], input=signed.encode(),
                                   check=True, capture_output=True).stdout
        return f"{signed}.{base64url(signature)}"


class AuthorizationServer:
    """Answers /keys with what answer_keys() makes of a request's handler; `key` signs, `published` are shown."""

    def __init__(self, resource, subject="me"):
        self.resource = resource
        self.subject = subject
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="repobridge-test-"))
        self.key = SigningKey(self.folder, "first")
        self.published = [self.key]
        self.answer_keys = self.publish
        self.keys_asked = []  # when /keys was asked for, on the steady clock
        self.asked = threading.Condition()
        self.codes = {}
        self.clients = {}
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.issuer = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()
        shutil.rmtree(self.folder)

    def new_key(self, kid):
        return SigningKey(self.folder, kid)

    def claims(self, **changes):
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": self.resource, "sub": self.subject, "iat": now, "exp": now + 300,
                  "scope": " ".join(SCOPES), **changes}
        return {name: value for name, value in claims.items() if value is not None}

    def token(self, **changes):
        return self.key.token(self.claims(**changes))

    def publish(self, request):
        request.send_json(200, {"keys": [key.jwk for key in self.published]})

    # What RFC 8414 has a client ask.
    def metadata(self, request, _query):
        request.send_json(200, {
            "issuer": self.issuer, "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token", "registration_endpoint": f"{self.issuer}/register",
            "jwks_uri": f"{self.issuer}/keys", "scopes_supported": SCOPES, "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code"], "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
            "authorization_response_iss_parameter_supported": True})

    def keys(self, request, _query):
        with self.asked:
            self.keys_asked.append(time.monotonic())
            self.asked.notify_all()
        self.answer_keys(request)

    def register(self, request, _query):
        client = json.loads(request.body())
        client["client_id"] = secrets.token_hex(8)
        self.clients[client["client_id"]] = client
        request.send_json(201, {**client, "token_endpoint_auth_method": "none"})

    # Whoever comes is signed in, and agrees.
    def authorize(self, request, query):
        client = self.clients.get(query.get("client_id"))
        fits = (client and query.get("redirect_uri") in client["redirect_uris"] and query.get("response_type") == "code"
                and query.get("code_challenge_method") == "S256" and query.get("resource") == self.resource)
        if not fits:
            request.send_json(400, {"error": "invalid_request"})
            return
        code = secrets.token_urlsafe(16)
        self.codes[code] = query
        answer = {"code": code, "iss": self.issuer, **({"state": query["state"]} if "state" in query else {})}
        request.send_response(302)
        request.send_header("Location", f"{query['redirect_uri']}?{urllib.parse.urlencode(answer)}")
        request.send_header("Content-Length", "0")
        request.end_headers()

    def give_token(self, request, _query):
        form = dict(urllib.parse.parse_qsl(request.body().decode()))
        asked = self.codes.pop(form.get("code"), None)
        challenge = base64url(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        fits = (asked and form.get("grant_type") == "authorization_code" and challenge == asked["code_challenge"]
                and form.get("redirect_uri") == asked["redirect_uri"] and form.get("client_id") == asked["client_id"]
                and form.get("resource") == self.resource)
        if not fits:
            request.send_json(400, {"error": "invalid_grant"})
            return
        scope = asked.get("scope", "")
        request.send_json(200, {"access_token": self.token(scope=scope), "token_type": "Bearer", "expires_in": 300,
                                "scope": scope})

    def _handler(self):
        server = self
        routes = {("GET", "/.well-known/oauth-authorization-server"): server.metadata, ("GET", "/keys"): server.keys,
                  ("POST", "/register"): server.register, ("GET", "/authorize"): server.authorize,
                  ("POST", "/token"): server.give_token}

        class Handler(http.server.BaseHTTPRequestHandler):
            def body(self):
                return self.rfile.read(int(self.headers["Content-Length"]))

            def send_bytes(self, status, data, kind="application/json"):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def send_json(self, status, value):
                self.send_bytes(status, json.dumps(value).encode())

            def route(self):
                url = urllib.parse.urlsplit(self.path)
                found = routes.get((self.command, url.path))
                if found is None:
                    self.send_json(404, {"error": "not_found"})
                    return
                try:
                    found(self, dict(urllib.parse.parse_qsl(url.query)))
                except (BrokenPipeError, ConnectionResetError):
                    pass  # whoever asked has gone

            do_GET = do_POST = route

            def log_message(self, *_):
                pass

        return Handler


def main():
    parser = argparse.ArgumentParser(description="An authorization server for tests")
    parser.add_argument("--resource", required=True)
    parser.add_argument("--subject", default="me")
    options = parser.parse_args()
    server = AuthorizationServer(options.resource, options.subject)
    print(json.dumps({"issuer": server.issuer}), flush=True)
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    main()
