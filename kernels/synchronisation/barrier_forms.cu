// Barriers in shared memory in the forms that libraries seldom use: by generic addresses, with counts,
// with threads that leave, with copies that count as arrivals, and on sm_90 with transactions.
#include <cuda_runtime.h>

using word = unsigned long long;

static __device__ word *hidden(word *barrier) {
    asm volatile("" : "+l"(barrier));
    return barrier;
}

static __device__ unsigned pending(word state) {
    unsigned count;
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(count) : "l"(state));
    return count;
}

static __device__ word arrive(word *barrier) {
    word state;
    asm volatile("mbarrier.arrive.b64 %0, [%1];" : "=l"(state) : "l"(barrier) : "memory");
    return state;
}

static __device__ word leave(word *barrier) {
    word state;
    asm volatile("mbarrier.arrive_drop.b64 %0, [%1];" : "=l"(state) : "l"(barrier) : "memory");
    return state;
}

static __device__ word arrive_early(word *barrier, unsigned count) {
    word state;
    asm volatile("mbarrier.arrive.noComplete.b64 %0, [%1], %2;"
                 : "=l"(state)
                 : "l"(barrier), "r"(count)
                 : "memory");
    return state;
}

static __device__ void wait(word *barrier, word state) {
    unsigned over = 0;
    while (!over) {
#if __CUDA_ARCH__ >= 900
        asm volatile("{ .reg .pred p; mbarrier.try_wait.b64 p, [%1], %2, 100; selp.u32 %0, 1, 0, p; }"
                     : "=r"(over)
                     : "l"(barrier), "l"(state)
                     : "memory");
#else
        asm volatile("{ .reg .pred p; mbarrier.test_wait.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(over)
                     : "l"(barrier), "l"(state)
                     : "memory");
#endif
    }
}

#if __CUDA_ARCH__ >= 900
static __device__ unsigned over_now(word *barrier, word state) {
    unsigned over;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(over)
                 : "l"(barrier), "l"(state)
                 : "memory");
    return over;
}
#endif

static __device__ void start(word *barrier, unsigned count) {
    asm volatile("mbarrier.init.b64 [%0], %1;" : : "l"(barrier), "r"(count) : "memory");
}

// For each block: the arrivals that were pending when one thread arrived, in three phases, and their sum
// over threads that arrived early; then the words that its threads copied, turned around. What a plain
// arrival finds pending depends on the order of threads and on how a warp arrives: it is not looked at.
extern "C" __global__ void barrier_forms(const unsigned *in, unsigned *out) {
    __shared__ word barriers[2];
    __shared__ alignas(16) unsigned words[128];
    word *barrier = hidden(barriers), *copied = hidden(barriers + 1);
    unsigned thread = threadIdx.x, threads = blockDim.x;
    unsigned *sums = out + blockIdx.x * (4 + threads);
    if (thread == 0) {
        start(barrier, threads);
        start(copied, threads);
    }
    __syncthreads();
    // All arrive, every other one for the last time.
    word state = thread % 2 ? leave(barrier) : arrive(barrier);
    wait(barrier, state);
    __syncthreads();
    // Half of the threads are left; each arrives, one before the others.
    if (thread == 0) {
        state = arrive_early(barrier, 1);
        sums[0] = pending(state);
    }
    __syncthreads();
    if (thread % 2 == 0) {
        if (thread)
            state = arrive(barrier);
        wait(barrier, state);
    }
    __syncthreads();
    // A barrier that all but one arrive at early, three times each.
    if (thread == 0)
        start(barrier, 3 * threads - 2);
    __syncthreads();
    if (thread) {
        state = arrive_early(barrier, 3);
        atomicAdd(sums + 1, pending(state));
    }
    __syncthreads();
    if (thread == 0)
        wait(barrier, arrive(barrier));
    __syncthreads();
    if (thread == 0)
        start(barrier, threads);
    __syncthreads();
#if __CUDA_ARCH__ >= 900
    // The phase waits for what is announced, also where all have arrived.
    asm volatile("mbarrier.arrive.expect_tx.b64 %0, [%1], %2;"
                 : "=l"(state)
                 : "l"(barrier), "r"(thread)
                 : "memory");
    __syncthreads();
    if (thread == 0)
        sums[2] = over_now(barrier, state);
    __syncthreads();
    asm volatile("mbarrier.complete_tx.relaxed.cta.b64 [%0], %1;" : : "l"(barrier), "r"(thread) : "memory");
#else
    if (thread == 0)
        sums[2] = 0;
    state = arrive(barrier);
#endif
    wait(barrier, state);
    __syncthreads();
    if (thread == 0) {
        state = arrive_early(barrier, 1);
        sums[3] = pending(state);
    }
    // Copies that arrive by themselves, without being counted in before.
    unsigned place = __cvta_generic_to_shared(words + thread);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
                 :
                 : "r"(place), "l"(in + blockIdx.x * threads + thread)
                 : "memory");
    asm volatile("cp.async.mbarrier.arrive.noinc.b64 [%0];" : : "l"(copied) : "memory");
    unsigned over = 0;
    while (!over)
        asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                     : "=r"(over)
                     : "l"(copied)
                     : "memory");
    sums[4 + thread] = words[threads - 1 - thread];
}
