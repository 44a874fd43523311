#!/usr/bin/env python3
"""Proves that a key of Kafka's that is told as served is read somewhere: one that is only checked must say so.

    check_settings.py SOURCE_DIR
    check_settings.py --self-test     shows that it can fail
"""
import re
import sys
import tempfile
from pathlib import Path

TABLE = "src/server/kafka_settings.cpp"
ROW = re.compile(r'row\(\s*"([^"]+)"(?:(?!\brow\().)*?\bS::(\w+)\)', re.S)


def check(source):
    text = (source / TABLE).read_text()
    rows = ROW.findall(text)
    if len(rows) != len(re.findall(r"\brow\(\s*\"", text)):
        return [f"{TABLE}: not every row is understood"]
    used = "".join(path.read_text() for folder in ("src", "include") for path in sorted((source / folder).rglob("*"))
                   if path.suffix in (".h", ".cpp") and path != source / TABLE)
    return [f"{key} is told as served, and nothing reads it" for key, support in rows if support == "served" and f'"{key}"' not in used]


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, content in {TABLE: 'row("a", T::int32, "1", S::served),\nrow("b", T::int32, "1",\n S::served),\nrow("c", S::later),',
                              "src/server/compose.cpp": 'integer("b")', "include/x.h": "// a"}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(content)
        assert check(root) == ["a is told as served, and nothing reads it"], check(root)
        (root / TABLE).write_text('row("a", T::int32, "1"),')
        assert check(root) == [f"{TABLE}: not every row is understood"], check(root)


if sys.argv[1:] == ["--self-test"]:
    self_test()
elif len(sys.argv) == 2:
    problems = check(Path(sys.argv[1]))
    print("\n".join(problems))
    sys.exit(1 if problems else 0)
else:
    sys.exit(__doc__)
