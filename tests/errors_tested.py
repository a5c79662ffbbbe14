#!/usr/bin/env python3
"""Checks that every code of docs/ERRORS.md is expected by a test: that its name, or its constant of
policy/codes.h, stands in a test file on a line that does not itself make the error.

    errors_tested.py ROOT    exit 1 and one line for each code that no test expects, but for those AWAITED
"""

import re
import sys
from pathlib import Path

from errors_documented import platform_codes, policy_codes

TESTS = ("*_test.cc", "*_test.py", "test_*.py", "*.mjs")
# Stand-ins make errors for the programs under test.
MAKES_IT = re.compile(r"refuse\(|\.code\s*=(?!=)|error_body")
# Codes whose tests are still to come; each leaves this list with its test, and no other code joins it.
AWAITED = set()


def lines_of_tests(root):
    for pattern in TESTS:
        for file in sorted((root / "tests").rglob(pattern)):
            if "node_modules" not in file.parts:
                yield from file.read_text(encoding="utf-8").splitlines()


def untested(root):
    names = {code: {code, constant} for constant, (code, _) in policy_codes(root).items()}
    names.update({code: {code} for code, _ in platform_codes(root)})
    expected = set()
    for line in lines_of_tests(root):
        if not MAKES_IT.search(line):
            expected |= set(re.findall(r"\w+", line))
    return {code for code, spellings in names.items() if not spellings & expected}


def main():
    missing = untested(Path(sys.argv[1]))
    found = [f"no test expects {code}" for code in sorted(missing - AWAITED)]
    found += [f"{code} is expected by a test now: it leaves AWAITED" for code in sorted(AWAITED - missing)]
    print("\n".join(found) or f"every code is expected by a test, but for {len(AWAITED)}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
