"""Every setting that the program knows stands in the example that init writes and in docs/POLICY.md."""

import re
import unittest

from admin_support import AdminCase, SOURCE


def known_settings():
    source = (SOURCE / "policy/settings.cc").read_text()
    slots = re.findall(r'slot \+ "([A-Z_]+)"', source)
    whole = re.findall(r'(?:variables\.(?:text|number|list|flag|seconds)|add_tokens)\((?:variables, )?"([A-Z_]+)"', source)
    return sorted({f"WORKDIR_01_{name}" for name in slots} | set(whole))


class SettingsNamed(AdminCase):
    def test_some_are_found(self):
        self.assertGreater(len(known_settings()), 20)

    def test_in_the_example(self):
        example = self.env_file.read_text()
        for name in known_settings():
            self.assertRegex(example, rf"(?m)^#?{name}=")

    def test_in_the_documentation(self):
        text = (SOURCE / "docs/POLICY.md").read_text()
        for name in known_settings():
            with self.subTest(name):
                self.assertIn(f"`{name.replace('_01_', '_XX_')}`", text)


if __name__ == "__main__":
    unittest.main()
