// One block writes data, a fence, then a flag; another waits for the flag, fences, and reads. All
// blocks of these launches fit on the GPU at once. Readers first touch the data, so that a stale
// copy lies in their L1 cache; what they then see is not used unless it is `IMPOSSIBLE`.
constexpr unsigned IMPOSSIBLE = 0xdeadbeefu;

__device__ void wait_for(const unsigned *flag, unsigned value) {
    if (threadIdx.x == 0) {
        while (*(volatile const unsigned *)flag < value) {
        }
        __threadfence();
    }
    __syncthreads();
}

__device__ void raise(unsigned *flag, unsigned value) {
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        *(volatile unsigned *)flag = value;
    }
}

// Even blocks write plain data, the odd block after each reads it.
extern "C" __global__ void pass_plain_data(unsigned *data, unsigned *flags, unsigned *received,
                                           int words) {
    unsigned pair = blockIdx.x / 2;
    unsigned *message = data + pair * words;
    if (blockIdx.x % 2 == 0) {
        for (int i = threadIdx.x; i < words; i += blockDim.x) {
            message[i] = pair * 1000 + i;
        }
        raise(&flags[pair], 1);
    } else {
        unsigned stale = message[threadIdx.x];
        wait_for(&flags[pair], 1);
        for (int i = threadIdx.x; i < words; i += blockDim.x) {
            received[pair * words + i] = message[i];
        }
        if (stale == IMPOSSIBLE) {
            received[0] = stale;
        }
    }
}

// The same with reductions for the data: each word lies 256 bytes from the next, so that the words
// meet different slices of the L2 and arrive there at different times.
extern "C" __global__ void pass_reductions(unsigned *data, unsigned *flags, unsigned *received,
                                           int words) {
    constexpr int STRIDE = 64;
    unsigned pair = blockIdx.x / 2;
    unsigned *message = data + pair * words * STRIDE;
    if (blockIdx.x % 2 == 0) {
        for (int i = threadIdx.x; i < words; i += blockDim.x) {
            atomicAdd(&message[i * STRIDE], pair * 1000 + i);
        }
        raise(&flags[pair], 1);
    } else {
        unsigned stale = message[threadIdx.x * STRIDE];
        wait_for(&flags[pair], 1);
        for (int i = threadIdx.x; i < words; i += blockDim.x) {
            received[pair * words + i] = message[i * STRIDE];
        }
        if (stale == IMPOSSIBLE) {
            received[0] = stale;
        }
    }
}

// The same with the release and acquire forms of the instructions instead of fences.
extern "C" __global__ void pass_release_acquire(unsigned *data, unsigned *flags,
                                                unsigned *received) {
    unsigned pair = blockIdx.x / 2;
    unsigned *cell = &data[pair * blockDim.x + threadIdx.x];
    unsigned *flag = &flags[pair * blockDim.x + threadIdx.x];
    if (blockIdx.x % 2 == 0) {
        *cell = pair * 1000 + threadIdx.x;
        asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
    } else {
        unsigned raised;
        do {
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(raised) : "l"(flag) : "memory");
        } while (raised == 0);
        received[pair * blockDim.x + threadIdx.x] = *cell;
    }
}

// Two blocks hand one counter back and forth; each adds 1 when it is its turn.
extern "C" __global__ void ping_pong(unsigned *counter, unsigned *turn, int rounds) {
    for (unsigned round = 0; round < rounds; round++) {
        wait_for(turn, 2 * round + blockIdx.x);
        if (threadIdx.x == 0) {
            *counter += 1;
        }
        raise(turn, 2 * round + blockIdx.x + 1);
    }
}

// Every block writes a word and a flag and then reads those of every other block. With more blocks
// than SMs, some pairs share an SM and its L1 cache and others do not.
extern "C" __global__ void all_to_all(unsigned *words, unsigned *flags, unsigned *sums) {
    __shared__ unsigned sum;
    unsigned stale = words[threadIdx.x];
    if (threadIdx.x == 0) {
        sum = 0;
        words[blockIdx.x] = blockIdx.x + 1;
        __threadfence();
        *(volatile unsigned *)&flags[blockIdx.x] = 1;
    }
    __syncthreads();
    for (unsigned block = threadIdx.x; block < gridDim.x; block += blockDim.x) {
        while (*(volatile unsigned *)&flags[block] == 0) {
        }
        __threadfence();
        atomicAdd(&sum, words[block]);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = stale == IMPOSSIBLE ? stale : sum;
    }
}

// Warps of one block hand a token round through volatile global words.
extern "C" __global__ void volatile_token(unsigned *token, unsigned *order, int rounds) {
    unsigned warp = threadIdx.x / 32;
    unsigned warps = blockDim.x / 32;
    token += blockIdx.x;
    order += blockIdx.x * warps * rounds;
    for (unsigned round = 0; round < rounds; round++) {
        unsigned turn = round * warps + warp;
        if (threadIdx.x % 32 == 0) {
            while (*(volatile unsigned *)token != turn) {
            }
            order[turn] = turn + 1;
            *(volatile unsigned *)token = turn + 1;
        }
        __syncwarp();
    }
}
