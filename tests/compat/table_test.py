#!/usr/bin/env python3
"""Proves that the table of clients in docs/compatibility.md cannot hide a failure: what the script refuses, and that the page has
a row for each client."""
import importlib.util
import tempfile
import unittest
from importlib.machinery import SourceFileLoader
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
loader = SourceFileLoader("compatibility_table", str(ROOT / "scripts/compatibility-table"))
table = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
loader.exec_module(table)

CLIENT = ["c", "Client", "1.0", "smoke"]


class Table(unittest.TestCase):
    def render(self, results, needs):
        with tempfile.TemporaryDirectory() as folder:
            if results is not None:
                (Path(folder) / "c.results").write_text(results)
            return table.render(Path(folder), [CLIENT], needs)

    def test_counts_and_reasons(self):
        lines, problems = self.render("PASS a\nPASS b why\nFAIL txn_x no\nFAIL acl\nFAIL txn_y\nSKIP s\nnoise\n",
                                      [["c", "txn_*", "transactions"], ["c", "acl", "lists"]])
        self.assertEqual(problems, [])
        self.assertEqual(lines[-1], "| Client | 1.0 | smoke | 2 | 3 | 1 | transactions 2, lists 1 |")

    def test_a_failure_without_a_reason(self):
        self.assertEqual(self.render("PASS a\nFAIL b\n", [])[1], ["c: b fails, and tests/compat/needs.tsv has no reason"])

    def test_a_reason_for_what_passes(self):
        self.assertEqual(self.render("PASS a\n", [["c", "a", "transactions"]])[1], ["c: no test fails that is like a"])
        self.assertEqual(self.render("PASS a\n", [["c", "a", table.KAFKA_AT_TIMES]])[1], [])

    def test_a_run_that_is_missing_or_empty(self):
        self.assertRegex(self.render(None, [])[1][0], "c.results is missing")
        with self.assertRaises(SystemExit):
            self.render("it did not start\n", [])

    def test_a_reason_of_a_client_that_nobody_runs(self):
        self.assertEqual(self.render("PASS a\n", [["d", "a", "x"]])[1], ["needs.tsv names d, which clients.tsv does not"])

    def test_the_page_has_each_client(self):
        rows = table.PAGE.read_text().split(table.BEGIN)[1].split(table.END)[0]
        for _, title, version, _ in table.table_lines(ROOT / "tests/compat/clients.tsv", 4):
            self.assertIn(f"| {title} | {version} |", rows)
        for _, _, need in table.table_lines(ROOT / "tests/compat/needs.tsv", 3):
            if need != table.KAFKA_AT_TIMES:
                self.assertIn(need, rows)


if __name__ == "__main__":
    unittest.main()
