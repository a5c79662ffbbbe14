"""repobridge render: how the front serves over HTTP, from the env file to front.json."""

import json
import unittest

from admin_support import AdminCase

TOKEN = "t" * 32 + "\n"


class RenderFront(AdminCase):
    def http(self, **settings):
        """What front.json says of HTTP."""
        self.assert_rendered(self.render(self.settings(**settings)))
        return json.loads((self.out / "front.json").read_text())["http"]

    def assert_refused(self, variable, **settings):
        done = self.render(self.settings(**settings))
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        self.assertIn(variable, done.stderr)

    def private_file(self, name, text=TOKEN):
        path = self.scratch / name
        path.write_text(text)
        path.chmod(0o600)
        return path

    def test_takes_the_token_that_init_made(self):
        self.assertEqual(self.http()["tokens"],
                         [{"name": "default", "file": str(self.out / "front.token"), "read_only": False}])

    def test_does_without_one_that_is_not_there(self):
        (self.out / "front.token").unlink()
        self.assertEqual(self.http()["tokens"], [])

    def test_takes_the_tokens_that_are_named_instead(self):
        writer, reader = self.private_file("writer"), self.private_file("reader")
        http = self.http(REPOBRIDGE_FRONT_TOKEN_FILES=f"w={writer}", REPOBRIDGE_FRONT_READ_ONLY_TOKEN_FILES=f"r={reader}")
        self.assertEqual(http["tokens"], [{"name": "w", "file": str(writer), "read_only": False},
                                          {"name": "r", "file": str(reader), "read_only": True}])

    def test_no_secret_leaves_its_file(self):
        done = self.render(self.settings())
        token = (self.out / "front.token").read_text().strip()
        for text in (done.stdout, (self.out / "front.json").read_text(), (self.out / "bridge.json").read_text()):
            self.assertNotIn(token, text)

    def test_the_bridge_is_not_concerned(self):
        self.http()
        before = (self.out / "bridge.json").read_bytes()
        http = self.http(REPOBRIDGE_FRONT_ALLOW_NON_LOOPBACK="true", REPOBRIDGE_FRONT_MAX_CONNECTIONS="5")
        self.assertTrue(http["allow_non_loopback"])
        self.assertEqual(http["limits"]["connections"], 5)
        self.assertEqual((self.out / "bridge.json").read_bytes(), before)

    def test_a_token_that_cannot_be_used_is_refused(self):
        variable = "REPOBRIDGE_FRONT_TOKEN_FILES"
        opened, short = self.private_file("opened"), self.private_file("short", "x\n")
        opened.chmod(0o644)
        link = self.scratch / "link"
        link.symlink_to("nowhere")
        for path in (opened, short, link, self.scratch / "none", self.work / "tools/check"):
            with self.subTest(path.name):
                self.assert_refused(variable, **{variable: f"a={path}"})

    def test_files_of_tls_lie_outside_every_workdir(self):
        key = self.private_file("key")
        self.assert_refused("REPOBRIDGE_FRONT_TLS_CERTIFICATE_FILE",
                            REPOBRIDGE_FRONT_TLS_CERTIFICATE_FILE=self.work / "pem", REPOBRIDGE_FRONT_TLS_KEY_FILE=key)
        http = self.http(REPOBRIDGE_FRONT_TLS_CERTIFICATE_FILE=key, REPOBRIDGE_FRONT_TLS_KEY_FILE=key)
        self.assertEqual(http["tls"], {"certificate": str(key), "key": str(key)})


if __name__ == "__main__":
    unittest.main()
