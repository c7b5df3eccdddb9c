// Whole-grid patterns: the last block to finish, and barriers across all blocks.

// Each block sums its part; the block that takes the last number adds the partial sums.
extern "C" __global__ void last_block_sum(const unsigned *in, unsigned *partial, unsigned *finished,
                                          unsigned *result, int n) {
    __shared__ unsigned sum;
    __shared__ bool last;
    if (threadIdx.x == 0) {
        sum = 0;
    }
    __syncthreads();
    unsigned own = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        own += in[i];
    }
    atomicAdd(&sum, own);
    __syncthreads();
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(finished, gridDim.x - 1) == gridDim.x - 1;
        sum = 0;
    }
    __syncthreads();
    if (last) {
        __threadfence();
        for (int i = threadIdx.x; i < gridDim.x; i += blockDim.x) {
            atomicAdd(&sum, partial[i]);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            *result = sum;
        }
    }
}

// Phases between grid barriers: each block reads its neighbour's word of the phase before. All
// blocks fit on the GPU at once; `arrived` only ever grows.
extern "C" __global__ void grid_barrier(unsigned *words, unsigned *arrived, int phases) {
    unsigned blocks = gridDim.x;
    unsigned neighbour = (blockIdx.x + 1) % blocks;
    for (int phase = 0; phase < phases; phase++) {
        unsigned *now = words + (phase + 1) * blocks;
        const unsigned *before = words + phase * blocks;
        if (threadIdx.x == 0) {
            now[blockIdx.x] = before[neighbour] + before[blockIdx.x] + 1;
        }
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) {
            atomicAdd(arrived, 1);
            while (*(volatile unsigned *)arrived < blocks * (phase + 1)) {
            }
            __threadfence();
        }
        __syncthreads();
    }
}

// The same in two buffers that the phases reuse in turn, so that stale lines would be read.
extern "C" __global__ void grid_barrier_in_place(unsigned *words, unsigned *arrived, int phases) {
    unsigned blocks = gridDim.x;
    unsigned neighbour = (blockIdx.x + 1) % blocks;
    for (int phase = 0; phase < phases; phase++) {
        unsigned *now = words + (phase + 1) % 2 * blocks;
        const unsigned *before = words + phase % 2 * blocks;
        if (threadIdx.x == 0) {
            now[blockIdx.x] = before[neighbour] + before[blockIdx.x] + 1;
        }
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) {
            atomicAdd(arrived, 1);
            while (*(volatile unsigned *)arrived < blocks * (phase + 1)) {
            }
            __threadfence();
        }
        __syncthreads();
    }
}
