// Exchanges and votes within a warp, whole and diverged. One result row each.
constexpr unsigned ALL_LANES = 0xffffffffu;

// Reductions over a warp: one instruction from Ampere on, shuffles before.
#if __CUDA_ARCH__ >= 800
#define REDUCE(name, value, unused) __reduce_##name##_sync(ALL_LANES, value)
#else
#define REDUCE(name, value, operation) fold(value, [](unsigned a, unsigned b) { return operation; })
template <typename Operation>
__device__ unsigned fold(unsigned value, Operation operation) {
    for (int distance = 16; distance > 0; distance /= 2) {
        value = operation(value, __shfl_xor_sync(ALL_LANES, value, distance));
    }
    return value;
}
#endif

extern "C" __global__ void warp_primitives(const unsigned *in, unsigned *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned value = in[i];
    unsigned lane = threadIdx.x % 32;
    int row = 0;
    auto put = [&](unsigned result) { out[row++ * n + i] = result; };

    put(__shfl_sync(ALL_LANES, value, value & 31));
    put(__shfl_up_sync(ALL_LANES, value, 3));
    put(__shfl_down_sync(ALL_LANES, value, 5, 16));
    put(__shfl_xor_sync(ALL_LANES, value, 9));
    put(__shfl_sync(ALL_LANES, value, 2, 8));
    put(__ballot_sync(ALL_LANES, value & 1));
    put(__all_sync(ALL_LANES, value != 12345) + 2 * __any_sync(ALL_LANES, (value & 31) == 7));
    put(__match_any_sync(ALL_LANES, value & 7));
    int same;
    put(__match_all_sync(ALL_LANES, value & 0, &same) + same);
    put(REDUCE(and, value | 0xff, a & b));
    put(REDUCE(or, value & 0xff00, a | b));
    put(REDUCE(xor, value, a ^ b));
    put(REDUCE(min, value, min(a, b)));
    put(REDUCE(max, value, max(a, b)));
    // Odd and even lanes each exchange among themselves.
    unsigned partners = lane & 1 ? 0xaaaaaaaau : 0x55555555u;
    unsigned result;
    if (lane & 1) {
        result = __shfl_sync(partners, value, 31) + __popc(__ballot_sync(partners, value & 2));
    } else {
        result = __shfl_sync(partners, value, 30) - __popc(__ballot_sync(partners, value & 2));
    }
    __syncwarp();
    put(result);
    unsigned mask;
    asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
    put(__popc(__ballot_sync(ALL_LANES, value & 4) & mask));
    // Barriers that also reduce over the block.
    put(__syncthreads_count(value & 1));
    put(__syncthreads_and((value & 0xff) != 3) ? 1 : 0);
    put(__syncthreads_or((value & 0xfff) == 5) ? 1 : 0);
}
