#!/usr/bin/env bash
# Remakes crates/sass/tests/corpus from the committed cubins of kernels/ and the sources beside the corpus
# with the vendor's tools that scripts/install-toolchain.sh installs. The tools themselves stay out of the
# repository; the corpus holds words of our own code and their single-bit variants.
#
# Usage: scripts/compare-disassembly-corpus.sh
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
tools="$root/.toolchain/bin"
corpus="$root/crates/sass/tests/corpus"
if [[ ! -x "$tools/nvdisasm" ]]; then
    echo "error: no disassembler in .toolchain; run scripts/install-toolchain.sh first" >&2
    exit 1
fi
cubins="$(mktemp -d)"
trap 'rm -rf "$cubins"' EXIT
for architecture in sm_75 sm_80 sm_86 sm_89 sm_90; do
    "$tools/nvcc" -O3 -std=c++17 "-arch=$architecture" -cubin \
        -o "$cubins/memory.$architecture.cubin" "$corpus/memory.cu"
done
# Little optimisation: the statements stand for themselves.
"$tools/ptxas" -O1 -arch=sm_90a -o "$cubins/hopper.sm_90.cubin" "$corpus/hopper.ptx"
cd "$root"
cargo run --quiet --release -p sass --example vendor_corpus -- \
    "$tools" "$corpus" kernels "$cubins"
