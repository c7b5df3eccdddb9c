#!/usr/bin/env bash
# Compiles public CUDA code into corpus/ (git-ignored), for comparing Warpath's disassembly with the
# vendor's over far more code than kernels/ holds.
#
# Usage: scripts/build-corpus.sh [--architectures LIST] [--no-cutlass] [--jobs N] [SOURCE_FOLDER …]
#
# Every .cu file below the given folders (for example checkouts of gpu-rodinia, PolyBenchGpu or
# cuda-samples) is compiled for each architecture (default: sm_75,sm_80,sm_86,sm_89,sm_90), with every
# folder that holds a header on the include path; files that do not compile are skipped and counted, for old code often needs a runtime
# interface that is gone. A few examples of CUTLASS, which comes from the Python package index, are
# compiled as well. Cubins that are already there are kept.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
tools="$root/.toolchain/bin"
corpus="$root/corpus"
architectures=(sm_75 sm_80 sm_86 sm_89 sm_90)
cutlass_version=4.2.0.0
# Examples that between them use tensor cores on halves, TF32, doubles, bytes and sparse operands,
# asynchronous copies, convolutions and attention.
cutlass_examples=(
    00_basic_gemm
    14_ampere_tf32_tensorop_gemm
    15_ampere_sparse_tensorop_gemm
    16_ampere_tensorop_conv2dfprop
    18_ampere_fp64_tensorop_affine2_gemm
    45_dual_gemm
)
# Compiling one file for longer than this is not worth it for a corpus.
seconds_per_file=300
jobs=1
with_cutlass=true
folders=()

while (($# > 0)); do
    case "$1" in
    --architectures) IFS=, read -ra architectures <<<"$2" && shift ;;
    --no-cutlass) with_cutlass=false ;;
    --jobs) jobs="$2" && shift ;;
    --help | -h) sed -n '2,/^set/p' "$0" | sed '$d; s/^# \{0,1\}//' && exit 0 ;;
    -*) echo "error: unknown option $1" >&2 && exit 2 ;;
    *) folders+=("$(realpath "$1")") ;;
    esac
    shift
done

if [[ ! -x "$tools/nvcc" ]]; then
    echo "error: no compiler in .toolchain; run scripts/install-toolchain.sh first" >&2
    exit 1
fi

# Compiles source $1 for architecture $2 into the cubin $3, with the include options of file $4.
compile() {
    local source="$1" architecture="$2" cubin="$3" options="$4"
    [[ -s "$cubin" ]] && return
    # Old sources lean on headers that newer compilers no longer include by themselves, and on names
    # of the runtime that were dropped for others of the same meaning.
    if ! timeout "$seconds_per_file" "$tools/nvcc" -O3 -std=c++17 -w "-arch=$architecture" -cubin \
        -include cstring -include cstdlib -DcudaThreadSynchronize=cudaDeviceSynchronize \
        -DcudaThreadExit=cudaDeviceReset -I "$(dirname "$source")" --options-file "$options" \
        -o "$cubin" "$source" >"$cubin.log" 2>&1; then
        rm -f "$cubin"
        echo "skipped $architecture $source"
        return
    fi
    rm -f "$cubin.log"
    # A file without kernels gives a cubin without code.
    if ! "$tools/nvdisasm" -c "$cubin" 2>/dev/null | grep -q '/\*0000\*/'; then
        rm -f "$cubin"
    fi
}
export -f compile
export tools seconds_per_file

# Lists the compilations of all sources of folder $1 under the name $2.
plan() {
    local folder="$1" name="$2" options="$corpus/$2.options" source relative architecture
    find "$folder" \( -name '*.h' -o -name '*.cuh' -o -name '*.hpp' \) -printf '%h\n' | sort -u |
        sed 's/.*/-I "&"/' >"$options"
    while IFS= read -r source; do
        relative="${source#"$folder"/}"
        for architecture in "${architectures[@]}"; do
            printf '%s\0%s\0%s\0%s\0' "$source" "$architecture" \
                "$corpus/$architecture/$name.$(tr '/ ' '__' <<<"${relative%.cu}").cubin" "$options"
        done
    done < <(find "$folder" -name '*.cu' | sort)
}

plan_cutlass() {
    local package="$root/.toolchain/packages/cutlass" options="$corpus/cutlass.options" example
    if [[ ! -d "$package/cutlass_library" ]]; then
        "${PYTHON:-python3}" -m pip install --quiet --disable-pip-version-check --no-deps \
            --target "$package" "nvidia-cutlass==$cutlass_version"
    fi
    local source="$package/cutlass_library/source"
    printf -- '-I "%s"\n' "$source/include" "$source/tools/util/include" \
        "$source/examples/common" >"$options"
    echo "--expt-relaxed-constexpr" >>"$options"
    for example in "${cutlass_examples[@]}"; do
        while IFS= read -r file; do
            for architecture in "${architectures[@]}"; do
                printf '%s\0%s\0%s\0%s\0' "$file" "$architecture" \
                    "$corpus/$architecture/cutlass.$(basename "$file" .cu).cubin" "$options"
            done
        done < <(find "$source/examples/$example" -name '*.cu' | sort)
    done
}

for architecture in "${architectures[@]}"; do
    mkdir -p "$corpus/$architecture"
done
{
    for folder in "${folders[@]}"; do
        plan "$folder" "$(basename "$folder")"
    done
    if $with_cutlass; then
        plan_cutlass
    fi
} | xargs -0 -r -n 4 -P "$jobs" bash -c 'compile "$@"' compile | sort

for architecture in "${architectures[@]}"; do
    instructions=0
    cubins=0
    for cubin in "$corpus/$architecture"/*.cubin; do
        [[ -e "$cubin" ]] || continue
        count="$("$tools/nvdisasm" -c "$cubin" 2>/dev/null | grep -c '/\*[0-9a-f]\{4,\}\*/' || true)"
        instructions=$((instructions + count))
        cubins=$((cubins + 1))
    done
    echo "$architecture: $instructions instructions in $cubins cubins"
done
