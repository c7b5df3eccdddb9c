// CTA barriers that reduce, and named barriers at which some warps only arrive.

extern "C" __global__ void reductions(const unsigned *in, unsigned *out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned value = in[i];
    unsigned result = __syncthreads_count(value & 1);
    result = result * 2 + (__syncthreads_and(value & 0xffffff) != 0);
    result = result * 2 + (__syncthreads_or(value > 0xfffffff0u) != 0);
    // The two halves of the block, each at a barrier of its own.
    unsigned half = threadIdx.x >= blockDim.x / 2, count;
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; barrier.cta.red.popc.u32 %0, %2, %3, p; }"
                 : "=r"(count)
                 : "r"(value >> 4 & 1), "r"(half + 1), "r"(blockDim.x / 2)
                 : "memory");
    out[i] = result * 1024 + count;
}

// Producers arrive and run on, consumers wait; then the other way round.
extern "C" __global__ void arrivals(const unsigned *in, unsigned *out, int rounds) {
    __shared__ unsigned buffer[64];
    unsigned lane = threadIdx.x % 64;
    bool producer = threadIdx.x < 64;
    unsigned sum = 0;
    for (int round = 0; round < rounds; ++round) {
        if (producer) {
            if (round > 0)
                asm volatile("bar.sync 2, 128;" ::: "memory");
            buffer[lane] = in[lane] + round * 3 + blockIdx.x;
            asm volatile("bar.arrive 1, 128;" ::: "memory");
        } else {
            asm volatile("bar.sync 1, 128;" ::: "memory");
            sum = sum * 7 + buffer[63 - lane];
            if (round + 1 < rounds)
                asm volatile("bar.arrive 2, 128;" ::: "memory");
        }
    }
    if (!producer)
        out[blockIdx.x * 64 + lane] = sum;
}
