// Locks made from atomics. The guarded words are plain memory; they come out right only if each
// holder sees everything that the holder before it wrote.

__device__ void add_to_guarded(unsigned *guarded, int words, unsigned value) {
#pragma unroll 1
    for (int i = 0; i < words; i++) {
        guarded[i] += value;
    }
}

// A ticket lock across blocks: `lock[0]` is the next ticket, `lock[1]` the one being served.
extern "C" __global__ void ticket_lock(unsigned *lock, unsigned *guarded, int words, int rounds) {
    if (threadIdx.x != 0) {
        return;
    }
    for (int round = 0; round < rounds; round++) {
        unsigned ticket = atomicAdd(&lock[0], 1);
        while (*(volatile unsigned *)&lock[1] != ticket) {
        }
        __threadfence();
        add_to_guarded(guarded, words, blockIdx.x + 1);
        __threadfence();
        *(volatile unsigned *)&lock[1] = ticket + 1;
    }
}

// A compare-and-swap lock across blocks, released by an exchange.
extern "C" __global__ void swap_lock(unsigned *lock, unsigned *guarded, int words, int rounds) {
    if (threadIdx.x != 0) {
        return;
    }
    for (int round = 0; round < rounds; round++) {
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        __threadfence();
        add_to_guarded(guarded, words, blockIdx.x + 1);
        __threadfence();
        atomicExch(lock, 0);
    }
}

// A lock between the lanes of a warp, written so that the holder never waits for the others.
extern "C" __global__ void lane_lock(unsigned *lock, unsigned *guarded, int words) {
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            add_to_guarded(guarded, words, threadIdx.x + 1);
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}

// The same as a plain spin lock. The compiler closes the loop with BSYNC, so the lane that took the
// lock waits there for lanes that can leave only after it: the YIELD in the loop must let it pass
// (independent thread scheduling).
extern "C" __global__ void lane_spin_lock(unsigned *lock, unsigned *guarded, int words) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
    add_to_guarded(guarded, words, threadIdx.x + 1);
    __threadfence();
    atomicExch(lock, 0);
}

// A lock in shared memory between all threads of a block.
extern "C" __global__ void shared_lock(unsigned *result, int words) {
    __shared__ unsigned lock;
    __shared__ unsigned guarded[8];
    if (threadIdx.x == 0) {
        lock = 0;
    }
    if (threadIdx.x < 8) {
        guarded[threadIdx.x] = 0;
    }
    __syncthreads();
    bool done = false;
    while (!done) {
        if (atomicCAS(&lock, 0, 1) == 0) {
#pragma unroll 1
            for (int i = 0; i < words; i++) {
                ((volatile unsigned *)guarded)[i] += threadIdx.x + 1;
            }
            __threadfence_block();
            atomicExch(&lock, 0);
            done = true;
        }
    }
    __syncthreads();
    if (threadIdx.x < words) {
        result[blockIdx.x * words + threadIdx.x] = guarded[threadIdx.x];
    }
}

// Fetch-and-add hands out every number once.
extern "C" __global__ void unique_tickets(unsigned *next, unsigned *taken) {
    unsigned ticket = atomicAdd(next, threadIdx.x % 3 + 1);
    for (unsigned i = 0; i < threadIdx.x % 3 + 1; i++) {
        taken[ticket + i] += 1;
    }
}
