// Asynchronous copies and barriers in shared memory (mbarrier): a pipeline of stages, and producers and
// consumers in one block.
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cooperative_groups.h>

namespace cg = cooperative_groups;
constexpr int STAGES = 3, BATCH = 256;

// Each block sums its batches, which arrive through a pipeline of three stages.
extern "C" __global__ void staged_sum(const unsigned *in, unsigned *out, int batches) {
    __shared__ alignas(16) unsigned stage[STAGES][BATCH];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    auto block = cg::this_thread_block();
    auto pipeline = cuda::make_pipeline(block, &state);
    const unsigned *from = in + blockIdx.x * batches * BATCH;
    unsigned sum = 0;
    for (int load = 0, batch = 0; batch < batches; ++batch) {
        for (; load < batches && load < batch + STAGES; ++load) {
            pipeline.producer_acquire();
            cuda::memcpy_async(block, stage[load % STAGES], from + load * BATCH,
                               cuda::aligned_size_t<16>(BATCH * sizeof(unsigned)), pipeline);
            pipeline.producer_commit();
        }
        pipeline.consumer_wait();
        for (int k = 0; k < BATCH / 64; ++k)
            sum = sum * 3 + stage[batch % STAGES][(threadIdx.x * 5 + k * 64 + 1) % BATCH];
        pipeline.consumer_release();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Half of the warps produce, the other half consume, with a pair of barriers for each of two buffers.
extern "C" __global__ void producers_and_consumers(const unsigned *in, unsigned *out, int rounds) {
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ unsigned buffer[2][64];
    __shared__ barrier ready[2], filled[2];
    auto block = cg::this_thread_block();
    if (threadIdx.x < 2) {
        init(&ready[threadIdx.x], blockDim.x);
        init(&filled[threadIdx.x], blockDim.x);
    }
    block.sync();
    unsigned lane = threadIdx.x % 64;
    if (threadIdx.x < 64) {
        for (int round = 0; round < rounds; ++round) {
            ready[round % 2].arrive_and_wait();
            buffer[round % 2][lane] = in[round * 64 + lane] * 3 + blockIdx.x;
            barrier::arrival_token token = filled[round % 2].arrive();
            (void)token;
        }
    } else {
        barrier::arrival_token first = ready[0].arrive();
        barrier::arrival_token second = ready[1].arrive();
        (void)first;
        (void)second;
        unsigned sum = 0;
        for (int round = 0; round < rounds; ++round) {
            filled[round % 2].arrive_and_wait();
            sum = sum * 5 + buffer[round % 2][63 - lane];
            barrier::arrival_token token = ready[round % 2].arrive();
            (void)token;
        }
        out[blockIdx.x * 64 + lane] = sum;
    }
}

// cp.async that arrives at a barrier by itself.
extern "C" __global__ void copies_that_arrive(const unsigned *in, unsigned *out) {
    __shared__ unsigned words[512];
    __shared__ cuda::barrier<cuda::thread_scope_block> all;
    auto block = cg::this_thread_block();
    if (threadIdx.x == 0)
        init(&all, blockDim.x);
    block.sync();
    for (int k = 0; k < 4; ++k)
        cuda::memcpy_async(words + threadIdx.x * 4 + k, in + blockIdx.x * 512 + threadIdx.x * 4 + k,
                           cuda::aligned_size_t<4>(4), all);
    all.arrive_and_wait();
    for (int k = 0; k < 4; ++k)
        out[blockIdx.x * 512 + k * 128 + threadIdx.x] = words[511 - (k * 128 + threadIdx.x)];
}
