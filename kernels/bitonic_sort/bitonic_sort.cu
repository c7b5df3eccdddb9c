// Bitonic sort of unsigned keys, ascending. Blocks of 512 threads hold 1,024 keys in shared memory.
constexpr unsigned CHUNK = 1024;

__device__ void order(unsigned &low, unsigned &high, bool ascending) {
    if ((low > high) == ascending) {
        unsigned key = low;
        low = high;
        high = key;
    }
}

__device__ void merge_in_shared(unsigned *keys, unsigned size, unsigned first_distance) {
    unsigned base = blockIdx.x * CHUNK;
    for (unsigned distance = first_distance; distance > 0; distance /= 2) {
        __syncthreads();
        unsigned at = 2 * threadIdx.x - (threadIdx.x & (distance - 1));
        bool ascending = ((base + at) & size) == 0;
        order(keys[at], keys[at + distance], ascending);
    }
    __syncthreads();
}

// Sorts each chunk of 1,024 keys; odd chunks in descending order.
extern "C" __global__ void bitonic_sort_chunks(unsigned *keys) {
    __shared__ unsigned chunk[CHUNK];
    unsigned base = blockIdx.x * CHUNK + threadIdx.x;
    chunk[threadIdx.x] = keys[base];
    chunk[threadIdx.x + CHUNK / 2] = keys[base + CHUNK / 2];
    for (unsigned size = 2; size <= CHUNK; size *= 2) {
        merge_in_shared(chunk, size, size / 2);
    }
    keys[base] = chunk[threadIdx.x];
    keys[base + CHUNK / 2] = chunk[threadIdx.x + CHUNK / 2];
}

// One compare-and-exchange step of the merge of `size` keys, at a distance beyond one chunk.
extern "C" __global__ void bitonic_merge_global(unsigned *keys, unsigned size, unsigned distance) {
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned at = 2 * thread - (thread & (distance - 1));
    unsigned low = keys[at];
    unsigned high = keys[at + distance];
    order(low, high, (at & size) == 0);
    keys[at] = low;
    keys[at + distance] = high;
}

// The remaining steps of that merge, whose distances fit a chunk.
extern "C" __global__ void bitonic_merge_chunks(unsigned *keys, unsigned size) {
    __shared__ unsigned chunk[CHUNK];
    unsigned base = blockIdx.x * CHUNK + threadIdx.x;
    chunk[threadIdx.x] = keys[base];
    chunk[threadIdx.x + CHUNK / 2] = keys[base + CHUNK / 2];
    merge_in_shared(chunk, size, CHUNK / 2);
    keys[base] = chunk[threadIdx.x];
    keys[base + CHUNK / 2] = chunk[threadIdx.x + CHUNK / 2];
}
