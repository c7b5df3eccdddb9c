// Loads, stores and atomic operations of every order, scope and width that CUDA C++ can name. Not meant to
// run: scripts/compare-disassembly-corpus.sh compiles it for each architecture.
#include <cuda_fp16.h>

extern "C" __global__ void memory(int *i, unsigned long long *l, float *f, double *d, __half2 *h, int n) {
    __shared__ int words[256];
    __shared__ unsigned long long longs[32];
    __shared__ float floats[32];
    const int t = threadIdx.x;
    words[t] = t;
    longs[t & 31] = t;
    floats[t & 31] = 0;
    __syncthreads();
    int a = atomicAdd(i, n) + atomicMin(i + 1, n) + atomicExch(i + 2, n) + atomicCAS(i + 3, n, t) +
            atomicAdd_system(i + 4, n) + atomicAdd_block(i + 5, n);
    unsigned long long b = atomicAdd(l, n) + atomicCAS(l + 1, n, t) + atomicMax(l + 2, n) +
                           atomicMin((long long *)l + 3, n) + atomicExch(l + 7, n);
    float x = atomicAdd(f, 1.0f);
    const double y = atomicAdd(d, 1.0);
    const __half2 z = atomicAdd(h, __floats2half2_rn(1, 2));
    atomicAdd(f + 2, 1.0f);
    atomicAdd(d + 2, 1.0);
    atomicAdd(h + 2, __floats2half2_rn(1, 2));
    atomicAdd(i + 9, n);
    atomicAdd(l + 9, n);
    atomicAnd(i + 8, n);
    a += atomicAdd(words, n) + atomicCAS(words + 1, n, t) + atomicMin(words + 2, t) + atomicExch(words + 3, t);
    b += atomicAdd(longs, n) + atomicCAS(longs + 1, n, t);
    x += atomicAdd(floats, 1.0f);
    atomicInc((unsigned *)words + 7, 99);
    __threadfence();
    __threadfence_system();
    __threadfence_block();
    int v = ((volatile int *)i)[n];
    v += __ldcg(i + n + 1) + __ldcs(i + n + 2) + __ldlu(i + n + 3) + __ldcv(i + n + 4) + __ldg(i + n + 5);
    __stcg(i + 20, v);
    __stcs(i + 21, v);
    __stwt(i + 22, v);
    int *either = n > 3 ? words : i;
    either[t] = n;
    v += either[t + 1] + atomicAdd(either + 7, t);
    atomicAdd(either + 8, t);
    v += atomicCAS(either + 9, t, n);
    b += atomicCAS((unsigned long long *)either + 9, t, n);
    volatile int *watched = either;
    v += watched[5];
    watched[6] = v;
    i[30 + t] = a + v;
    l[30 + t] = b;
    f[30 + t] = x;
    d[30 + t] = y;
    h[30 + t] = z;
}
