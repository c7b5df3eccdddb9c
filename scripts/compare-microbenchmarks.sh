#!/usr/bin/env bash
# Runs Accel-Sim's GPU microbenchmarks on the simulated RTX 4090 and prints them beside the card's own clock
# counts (docs/accuracy.md).
#
# Usage: scripts/compare-microbenchmarks.sh CHECKOUT [-w WARPATH] [-g GPU] [-o FOLDER] [ROW …]
#
#   CHECKOUT  util/tuner/GPU_Microbenchmark of github.com/dzwduan/modern-gpu-simulator-micro-2025, whose
#             stats.txt has the card's counts, or of github.com/accel-sim/accel-sim-framework
#   -w        the program to run (default: target/release/warpath)
#   -g        another GPU than rtx-4090, of the same architecture, as a name or a document
#   -o        folder for cubins and results (default: target/microbenchmarks)
#   ROW       rows of scripts/microbenchmarks/rows.csv (default: all)
#
# The programs are compiled from the checkout, which is not part of this repository: device code alone, by the
# tools that scripts/install-toolchain.sh installs. The card's counts are of CUDA 12.6; the assembler of 12.9 is
# the nearest to it there.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
tools="$root/.toolchain/bin"
warpath="$root/target/release/warpath"
folder="$root/target/microbenchmarks"
gpu=rtx-4090

checkout="${1:-}"
if [[ ! -d "$checkout/ubench" ]]; then
    sed -n '2,/^set/{/^#/s/^# \?//p}' "${BASH_SOURCE[0]}" >&2
    echo "error: ${checkout:-no CHECKOUT} has no folder ubench" >&2
    exit 2
fi
checkout="$(cd "$checkout" && pwd)"
shift
while getopts w:g:o: option; do
    case "$option" in
    w) warpath="$(realpath "$OPTARG")" ;;
    g) gpu="$OPTARG" ;;
    o) folder="$OPTARG" ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
for tool in "$tools/nvcc" "$tools/ptxas-12.9" "$warpath"; do
    if [[ ! -x "$tool" ]]; then
        echo "error: $tool is missing (scripts/install-toolchain.sh; cargo build --release)" >&2
        exit 1
    fi
done
mkdir -p "$folder"
folder="$(cd "$folder" && pwd)"

# Compiles the program `name` with the options that its Makefile gives the assembler.
build() {
    local name="$1" source makefile options
    source="$(find "$checkout/ubench" -name "$name.cu" | head -n 1)"
    if [[ -z "$source" ]]; then
        echo "error: $name.cu is not in $checkout" >&2
        exit 1
    fi
    makefile="$(dirname "$source")/Makefile"
    options="$(sed -n 's/^NVCC_FLGAS *= *//p' "$makefile" | sed 's/-Xptxas//g')"
    # Release 13 has no cudaDeviceProp::memoryClockRate, which the programs' host code names.
    (cd "$(dirname "$source")" &&
        "$tools/nvcc" -w -arch=compute_89 -DmemoryClockRate=major -DclockRate=major -ptx \
            -o "$folder/$name.ptx" "$name.cu")
    sed -i 's/^\.version .*/.version 8.8/' "$folder/$name.ptx"
    # shellcheck disable=SC2086 # the options are several words
    "$tools/ptxas-12.9" -O3 -arch=sm_89 $options -o "$folder/$name.sm_89.cubin" "$folder/$name.ptx"
}

cp "$root"/scripts/microbenchmarks/*.toml "$folder"
sed -n 's/^cubin = "\(.*\)\.{arch}\.cubin"/\1/p' "$folder"/*.toml | sort -u | while read -r name; do
    if [[ ! -e "$folder/$name.sm_89.cubin" ]]; then
        build "$name"
    fi
done
exec python3 "$root/scripts/microbenchmarks/compare.py" "$folder" "$warpath" "$gpu" "$@"
