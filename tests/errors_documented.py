#!/usr/bin/env python3
"""Checks that docs/ERRORS.md has exactly the codes of the product, each with its kind and status.

Callers' codes stand in policy/codes.h. Those of platform/ are found where they are made, as
`Kind::kind, "CODE"` or `.kind = Kind::kind, .code = "CODE"`.

    errors_documented.py ROOT    exit 1 and one line for each difference
"""

import re
import sys
from pathlib import Path

POLICY_ROW = re.compile(r'X\((k\w+), "([A-Z_]+)", (\w+)\)')
PLATFORM_PLACE = re.compile(r'Kind::(\w+),\s*(?:\.code\s*=\s*)?"([A-Z][A-Z_]+)"')
# refusal("CODE", …) where the kind stands in a helper of the file.
PLATFORM_HELPER = re.compile(r'refusal\("([A-Z][A-Z_]+)"')
DOCUMENT_ROW = re.compile(r"\| `([A-Z_]+)` \| (\w+) (\d+) \|")
STATUS_CASE = re.compile(r"((?:case Kind::\w+:\s*)+)return (\d{3});")
NOT_OURS = {"INTERNAL_ERROR"}  # also in codes.h


def policy_codes(root):
    """The constant of each code that callers can meet -> (code, kind)."""
    text = (root / "policy/codes.h").read_text(encoding="utf-8")
    return {constant: (code, kind) for constant, code, kind in POLICY_ROW.findall(text)}


def platform_codes(root):
    """(code, kind) of each code of the floor below."""
    found = set()
    for file in sorted((root / "platform").glob("*.cc")):
        text = file.read_text(encoding="utf-8")
        found |= {(code, kind) for kind, code in PLATFORM_PLACE.findall(text)}
        found |= {(code, "invalid") for code in PLATFORM_HELPER.findall(text)}
    return {(code, kind) for code, kind in found if code not in NOT_OURS}


def status_of_kinds(root):
    text = (root / "policy/codes.cc").read_text(encoding="utf-8")
    return {
        kind: status
        for cases, status in STATUS_CASE.findall(text)
        for kind in re.findall(r"Kind::(\w+)", cases)
    }


def differences(root):
    statuses = status_of_kinds(root)
    coded = set(policy_codes(root).values()) | platform_codes(root)
    expected = {(code, kind, statuses[kind]) for code, kind in coded}
    rows = DOCUMENT_ROW.findall((root / "docs/ERRORS.md").read_text(encoding="utf-8"))
    found = [f"{' '.join(row)} stands there twice" for row in sorted(set(rows)) if rows.count(row) > 1]
    found += [f"no row for {' '.join(row)}" for row in sorted(expected - set(rows))]
    return found + [f"nothing in the code for {' '.join(row)}" for row in sorted(set(rows) - expected)]


def main():
    found = differences(Path(sys.argv[1]))
    print("\n".join(found) or "docs/ERRORS.md and the code agree")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
