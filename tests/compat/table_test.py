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

CLIENT = ["c", "Client", "1.0", "smoke", "1"]


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
        self.assertEqual(lines[-1], "| Client | 1.0 | smoke | 1 | 2 | 3 | 1 | transactions 2, lists 1 |")

    def test_a_run_against_three_nodes_has_the_reasons_of_that_against_one_and_its_own(self):
        needs = [["c", "txn", "transactions"], ["three/c", "move", "reassignment"]]
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "three").mkdir()
            (Path(folder) / "c.results").write_text("PASS move\nFAIL txn\n")
            (Path(folder) / "three/c.results").write_text("FAIL move\nFAIL txn\n")
            clients = [CLIENT, ["three/c", "Client", "1.0", "smoke", "3"]]
            lines, problems = table.render(Path(folder), clients, needs)
            self.assertEqual(problems, [])
            self.assertEqual(lines[-2:], ["| Client | 1.0 | smoke | 1 | 1 | 1 | 0 | transactions 1 |",
                                          "| Client | 1.0 | smoke | 3 | 0 | 2 | 0 | reassignment 1, transactions 1 |"])
            (Path(folder) / "three/c.results").write_text("FAIL move\nPASS txn\n")
            self.assertEqual(table.render(Path(folder), clients, needs)[1], ["three/c: no test fails that is like txn"])

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

    def test_the_rows_of_other_runs_stay(self):
        clients = [CLIENT, ["d", "Other", "2.0", "smoke", "1"]]
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "d.results").write_text("PASS a\n")
            old = "| Client | 1.0 | smoke | 1 | 7 | 0 | 0 |  |"
            lines, problems = table.render(Path(folder), clients, [], ["d"], [old, "| Other | 2.0 | smoke | 1 | 0 | 1 | 0 |  |"])
            self.assertEqual((lines[-2:], problems), ([old, "| Other | 2.0 | smoke | 1 | 1 | 0 | 0 |  |"], []))
            self.assertEqual(table.render(Path(folder), clients, [], ["d"], [])[1], ["c: the page has 0 rows to keep"])
            self.assertIn("clients.tsv does not name e", table.render(Path(folder), clients, [], ["d", "e"], [old])[1])

    def test_the_page_has_each_client(self):
        rows = table.PAGE.read_text().split(table.BEGIN)[1].split(table.END)[0]
        for _, title, version, kind, nodes in table.table_lines(ROOT / "tests/compat/clients.tsv", 5):
            self.assertIn(f"| {title} | {version} | {kind} | {nodes} |", rows)
        for _, _, need in table.table_lines(ROOT / "tests/compat/needs.tsv", 3):
            if need != table.KAFKA_AT_TIMES:
                self.assertIn(need, rows)


if __name__ == "__main__":
    unittest.main()
