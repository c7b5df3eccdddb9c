// One step of an n-body system: all pairs, tiles of bodies through shared memory, softened gravity.
#define TILE 128

extern "C" __global__ void nbody(const float4 *from, const float4 *velocity, float4 *to,
                                 float4 *velocity_to, float step, float softening, int n) {
    __shared__ float4 tile[TILE];
    int i = blockIdx.x * TILE + threadIdx.x;
    float4 body = from[i];
    float ax = 0.0f;
    float ay = 0.0f;
    float az = 0.0f;
    for (int first = 0; first < n; first += TILE) {
        tile[threadIdx.x] = from[first + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < TILE; k++) {
            float4 other = tile[k];
            float dx = other.x - body.x;
            float dy = other.y - body.y;
            float dz = other.z - body.z;
            float square = fmaf(dz, dz, fmaf(dy, dy, fmaf(dx, dx, softening)));
            float inverse = rsqrtf(square);
            float scale = other.w * inverse * inverse * inverse;
            ax = fmaf(dx, scale, ax);
            ay = fmaf(dy, scale, ay);
            az = fmaf(dz, scale, az);
        }
        __syncthreads();
    }
    float4 v = velocity[i];
    v.x = fmaf(ax, step, v.x);
    v.y = fmaf(ay, step, v.y);
    v.z = fmaf(az, step, v.z);
    to[i] = make_float4(fmaf(v.x, step, body.x), fmaf(v.y, step, body.y), fmaf(v.z, step, body.z), body.w);
    velocity_to[i] = v;
}
