// Eight named barriers: each group of two warps meets at a barrier of its own, then all at
// barrier 0.
extern "C" __global__ void barriers(unsigned *out) {
    __shared__ unsigned words[448];
    unsigned group = threadIdx.x / 64;
    words[threadIdx.x] = threadIdx.x + 1;
    // One constant per barrier: the compiler counts the barriers that it can name.
    switch (group) {
    case 0: asm volatile("bar.sync 1, 64;" ::: "memory"); break;
    case 1: asm volatile("bar.sync 2, 64;" ::: "memory"); break;
    case 2: asm volatile("bar.sync 3, 64;" ::: "memory"); break;
    case 3: asm volatile("bar.sync 4, 64;" ::: "memory"); break;
    case 4: asm volatile("bar.sync 5, 64;" ::: "memory"); break;
    case 5: asm volatile("bar.sync 6, 64;" ::: "memory"); break;
    case 6: asm volatile("bar.sync 7, 64;" ::: "memory"); break;
    }
    unsigned partner = words[threadIdx.x ^ 32];
    __syncthreads();
    out[threadIdx.x] = partner + words[447 - threadIdx.x];
}
