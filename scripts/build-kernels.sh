#!/usr/bin/env bash
# Remakes the committed cubins of kernels/ with the tools that scripts/install-toolchain.sh installs.
#
# Usage: scripts/build-kernels.sh [SOURCE.cu|SOURCE.ptx …]   (default: every source of kernels/)
#
# kernels/<folder>/<name>.cu (or .ptx) becomes <name>.<architecture>.cubin beside it, for every architecture
# below, or for those that its launch files name (`architectures`). The sources of kernels/abi/ and a few others are also assembled by the releases 11.8 and
# 12.9, whose cubins have the older ABI: kernels/abi/<name>.cuda-<release>.<architecture>.cubin.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
tools="$root/.toolchain/bin"
architectures=(sm_75 sm_80 sm_86 sm_89 sm_90)

if [[ ! -x "$tools/nvcc" ]]; then
    echo "error: no compiler in .toolchain; run scripts/install-toolchain.sh first" >&2
    exit 1
fi

# The architectures of a source: all, unless every launch file of its cubin names some.
architectures_of() {
    local folder name launch named list=()
    folder="$(dirname "$1")"
    name="$(basename "${1%.*}")"
    for launch in "$folder"/*.toml; do
        grep -qs "^cubin = \"$name\.{arch}\.cubin\"" "$launch" || continue
        named="$(sed -n 's/^architectures = \[\(.*\)\]/\1/p' "$launch" | tr -d '",')"
        if [[ -z "$named" ]]; then
            list=()
            break
        fi
        read -ra named <<<"$named"
        list+=("${named[@]}")
    done
    if ((${#list[@]} == 0)); then
        list=("${architectures[@]}")
    fi
    printf '%s\n' "${list[@]}" | sort -u
}

# Compiles inside the source's own folder, so that no path of this machine enters a cubin.
build_current() {
    local source="$1" name architecture
    name="$(basename "${source%.*}")"
    for architecture in $(architectures_of "$source"); do
        if [[ "$source" == *.ptx ]]; then
            (cd "$(dirname "$source")" &&
                "$tools/ptxas" -O3 "-arch=$architecture" -o "$name.$architecture.cubin" "$name.ptx")
            continue
        fi
        (cd "$(dirname "$source")" &&
            "$tools/nvcc" -O3 -std=c++17 "-arch=$architecture" -cubin \
                -o "$name.$architecture.cubin" "$name.cu")
    done
}

# The PTX release that each older assembler knows last.
declare -A ptx_version=([11.8]=7.8 [12.9]=8.8)

# Also assembled by the older releases, beside the sources of kernels/abi/.
older=(vadd reduction bitonic_sort hgemm)

build_older() {
    local source="$1" name release architecture ptx
    name="$(basename "$source" .cu)"
    ptx="$(mktemp --suffix=.ptx)"
    for architecture in $(architectures_of "$source"); do
        (cd "$(dirname "$source")" &&
            "$tools/nvcc" -O3 -std=c++17 "-arch=compute_${architecture#sm_}" -ptx -o "$ptx" "$name.cu")
        for release in "${!ptx_version[@]}"; do
            # The code uses nothing newer; only the header names the newest release.
            sed -i "s/^\.version .*/.version ${ptx_version[$release]}/" "$ptx"
            "$tools/ptxas-$release" -O3 "-arch=$architecture" \
                -o "$root/kernels/abi/$name.cuda-$release.$architecture.cubin" "$ptx"
        done
    done
    rm -f "$ptx"
}

if (($# > 0)); then
    sources=("$@")
else
    mapfile -t sources < <(find "$root/kernels" -name '*.cu' -o -name '*.ptx' | sort)
fi

for source in "${sources[@]}"; do
    echo "${source#"$root/"}"
    name="$(basename "${source%.*}")"
    build_current "$source"
    if [[ "$(realpath "$source")" == "$root/kernels/abi/"* || " ${older[*]} " == *" $name "* ]]; then
        build_older "$source"
    fi
done
