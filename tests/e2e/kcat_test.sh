#!/usr/bin/env bash
# Proves with kcat, through real sockets and files, that what was written with each codec is read back byte for byte,
# before and after kill -9. Smaller than scripts/e2e: 4,000 package records.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
exec python3 tests/e2e/e2e.py --clients kcat --records 4000 --timeout 60
