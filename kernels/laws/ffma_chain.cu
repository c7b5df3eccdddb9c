// Chains of dependent FFMAs in straight-line code: n of them take 4 n + c cycles, where c is the
// same for every n. With `trips` above one the instruction caches are warm after the first trip.
template <int LENGTH> __device__ void chain(const float *coefficients, float *out, int trips) {
    float factor = coefficients[0];
    float addend = coefficients[1];
    float value = (float)threadIdx.x;
#pragma unroll 1
    for (int trip = 0; trip < trips; trip++) {
#pragma unroll
        for (int i = 0; i < LENGTH; i++) {
            value = fmaf(value, factor, addend);
        }
    }
    out[threadIdx.x] = value;
}

#define CHAIN(LENGTH)                                                                              \
    extern "C" __global__ void ffma_chain_##LENGTH(const float *coefficients, float *out,          \
                                                   int trips) {                                    \
        chain<LENGTH>(coefficients, out, trips);                                                   \
    }

CHAIN(64)
CHAIN(128)
CHAIN(256)
CHAIN(512)
