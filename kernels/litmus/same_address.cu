// Order of accesses of one thread to one address: a reduction, a strong load and plain accesses
// must take effect in program order, although reductions and strong accesses perform at the L2.

// Reduction, then plain store: the store wins.
extern "C" __global__ void red_then_store(unsigned *cells, int rounds) {
    unsigned *cell = &cells[blockIdx.x * blockDim.x + threadIdx.x];
    for (int round = 0; round < rounds; round++) {
        atomicAdd(cell, 100);
        *cell = threadIdx.x + round;
    }
}

// Reduction, then plain load: the load sees the sum.
extern "C" __global__ void red_then_load(unsigned *cells, unsigned *seen, int rounds) {
    unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned sum = cells[at]; // brings the line into the L1 cache, where it then is stale
    for (int round = 0; round < rounds; round++) {
        atomicAdd(&cells[at], at + 1);
        sum += cells[at];
    }
    seen[at] = sum;
}

// Plain store, then reduction, then plain load.
extern "C" __global__ void store_then_red(unsigned *cells, unsigned *seen, int rounds) {
    unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned sum = 0;
    for (int round = 0; round < rounds; round++) {
        cells[at] = round;
        atomicAdd(&cells[at], 7);
        sum += cells[at];
    }
    seen[at] = sum;
}

// Strong load, then plain store: the load must not see the store.
extern "C" __global__ void strong_load_then_store(unsigned *cells, unsigned *seen, int rounds) {
    unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned sum = 0;
    for (int round = 0; round < rounds; round++) {
        unsigned value;
        asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(&cells[at]));
        cells[at] = at + round;
        sum += value;
    }
    seen[at] = sum;
}

// The same with a volatile load.
extern "C" __global__ void volatile_load_then_store(unsigned *cells, unsigned *seen, int rounds) {
    unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned sum = 0;
    for (int round = 0; round < rounds; round++) {
        unsigned value = *(volatile unsigned *)&cells[at];
        cells[at] = at + round;
        sum += value;
    }
    seen[at] = sum;
}

// Plain store, then strong load, then atomic exchange, then plain load.
extern "C" __global__ void mixed_accesses(unsigned *cells, unsigned *seen, int rounds) {
    unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned sum = 0;
    for (int round = 0; round < rounds; round++) {
        cells[at] = 3 * round + 1;
        unsigned strong;
        asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];"
                     : "=r"(strong)
                     : "l"(&cells[at])
                     : "memory");
        unsigned old = atomicExch(&cells[at], 3 * round + 2);
        unsigned plain = cells[at];
        // Each of the three differences is 0 when every access saw the one before it.
        sum += (strong - (3 * round + 1)) + (old - (3 * round + 1)) + (plain - (3 * round + 2)) + 1;
    }
    seen[at] = sum;
}
