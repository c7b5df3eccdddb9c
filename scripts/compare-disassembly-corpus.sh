#!/usr/bin/env bash
# Remakes crates/sass/tests/corpus from the committed cubins of kernels/ with the vendor's
# disassembler that scripts/install-toolchain.sh installs. The tools themselves stay out of the
# repository; the corpus holds words of our own kernels and their single-bit variants.
#
# Usage: scripts/compare-disassembly-corpus.sh
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
tools="$root/.toolchain/bin"
if [[ ! -x "$tools/nvdisasm" ]]; then
    echo "error: no disassembler in .toolchain; run scripts/install-toolchain.sh first" >&2
    exit 1
fi
cd "$root"
cargo run --quiet --release -p sass --example vendor_corpus -- \
    "$tools" kernels crates/sass/tests/corpus
