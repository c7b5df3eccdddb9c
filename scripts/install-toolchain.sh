#!/usr/bin/env bash
# Installs the CUDA compiler and disassembler from the Python package index into .toolchain/.
#
# Warpath itself needs none of this: the cubins of kernels/ are committed. The tools are needed
# only to remake them (scripts/build-kernels.sh), to compile a comparison corpus
# (scripts/build-corpus.sh), and as a test oracle for the disassembler. They stand under the
# vendor's licence and are therefore installed by whoever uses them, never committed.
#
# Usage: scripts/install-toolchain.sh [--force]
# Needs: python3 with pip, and a host C++ compiler (gcc) for nvcc. About 700 MB of disk.
#
# Afterwards:
#   .toolchain/bin/{nvcc,ptxas,nvdisasm,cuobjdump,nvlink,fatbinary}   release 13.5
#   .toolchain/bin/ptxas-12.9, .toolchain/bin/ptxas-11.8              assemblers of the older ABI
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
destination="$root/.toolchain"
python="${PYTHON:-python3}"

packages_13=(
    nvidia-cuda-nvcc==13.5.37
    nvidia-nvvm==13.5.37
    nvidia-cuda-crt==13.5.37
    nvidia-cuda-runtime==13.5.37
    nvidia-cuda-cccl==13.3.5.0.6
    nvidia-cuda-nvdisasm==13.5.37
    nvidia-cuda-cuobjdump==13.5.37
)
packages_12=(nvidia-cuda-nvcc-cu12==12.9.86)
packages_11=(nvidia-cuda-nvcc-cu11==11.8.89)

if [[ "${1:-}" == "--force" ]]; then
    rm -rf "$destination"
fi

# Installs the packages $2… into .toolchain/packages/$1 unless that very list is already there.
install_set() {
    local name="$1"
    shift
    local folder="$destination/packages/$name"
    local stamp="$folder/.installed"
    if [[ -f "$stamp" && "$(cat "$stamp")" == "$*" ]]; then
        echo "CUDA $name: already installed"
        return
    fi
    echo "CUDA $name: installing $*"
    rm -rf "$folder"
    mkdir -p "$folder"
    # --no-deps: the packages name each other loosely, and only these are wanted.
    "$python" -m pip install --quiet --disable-pip-version-check --no-deps --target "$folder" "$@"
    echo "$*" >"$stamp"
}

# Makes .toolchain/bin/$1 run the program $2. A wrapper rather than a link, because nvcc finds its
# parts beside the path that it was called by.
wrap() {
    local name="$1" program="$2"
    if [[ ! -f "$program" ]]; then
        echo "error: $program is missing from the installed packages" >&2
        exit 1
    fi
    chmod +x "$program"
    local relative="${program#"$destination"/}"
    cat >"$destination/bin/$name" <<WRAPPER
#!/bin/sh
exec "\$(dirname "\$(readlink -f "\$0")")/../$relative" "\$@"
WRAPPER
    chmod +x "$destination/bin/$name"
}

install_set 13.5 "${packages_13[@]}"
install_set 12.9 "${packages_12[@]}"
install_set 11.8 "${packages_11[@]}"

mkdir -p "$destination/bin"
cuda="$destination/packages/13.5/nvidia/cu13"
# pip drops the executable bit of some files.
chmod +x "$cuda"/bin/* "$cuda"/nvvm/bin/* 2>/dev/null || true
for tool in nvcc ptxas nvdisasm cuobjdump nvlink fatbinary; do
    wrap "$tool" "$cuda/bin/$tool"
done
wrap ptxas-12.9 "$destination/packages/12.9/nvidia/cuda_nvcc/bin/ptxas"
wrap ptxas-11.8 "$destination/packages/11.8/nvidia/cuda_nvcc/bin/ptxas"
# The runtime package has no development link, which `-cudart shared` needs.
ln -sf libcudart.so.13 "$cuda/lib/libcudart.so"

echo "installed in .toolchain:"
for tool in nvcc ptxas nvdisasm cuobjdump ptxas-12.9 ptxas-11.8; do
    printf '  %-12s %s\n' "$tool" "$("$destination/bin/$tool" --version | grep -o 'V[0-9.]*' | tail -1)"
done
