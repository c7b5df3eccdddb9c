// Accesses of every width in global, shared, local and constant memory and through generic pointers.
__constant__ unsigned constants[16] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53};

extern "C" __global__ void memory_widths(const unsigned char *bytes, unsigned *out, int n) {
    __shared__ __align__(16) unsigned char shared[64 * 16];
    extern __shared__ unsigned dynamic[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int t = threadIdx.x;
    int row = 0;
    auto put = [&](unsigned value) { out[row++ * n + i] = value; };

    const unsigned char *own = bytes + 16 * i;
    uint4 four = *(const uint4 *)own;
    uint2 two = *(const uint2 *)(own + 8);
    put(own[5] + 256 * (unsigned)*(const signed char *)(own + 6));
    put(*(const unsigned short *)(own + 2) + (unsigned)*(const short *)(own + 4));
    put(two.x ^ two.y);
    put(four.x + four.y + four.z + four.w);
    put(constants[own[0] & 15]);

    *(uint4 *)(shared + 16 * t) = four;
    dynamic[t] = four.y;
    __syncthreads();
    int other = (t + 33) % 64;
    put(shared[16 * other + own[1] % 16]);
    put((unsigned)*(const short *)(shared + 16 * other + 2));
    uint2 pair = *(const uint2 *)(shared + 16 * other + 8);
    put(pair.x - pair.y);
    put(dynamic[other]);

    // One pointer that is global in some lanes, shared in others and local in the rest.
    unsigned local[4] = {four.w, four.z, four.y, four.x};
    const unsigned *anywhere = own[3] % 3 == 0   ? (const unsigned *)own
                               : own[3] % 3 == 1 ? (const unsigned *)(shared + 16 * other)
                                                 : local;
    put(anywhere[own[4] % 4]);
    __syncthreads();

    // Narrow stores.
    shared[16 * t + 1] = (unsigned char)(four.x >> 8);
    *(unsigned short *)(shared + 16 * t + 2) = (unsigned short)four.y;
    *(uint2 *)(shared + 16 * t + 8) = make_uint2(i, ~i);
    uint4 back = *(const uint4 *)(shared + 16 * t);
    put(back.x);
    put(back.z ^ back.w);
    ((unsigned char *)(out + row * n))[4 * i + 0] = own[7];
    ((unsigned short *)(out + row * n))[2 * i + 1] = 0x1234;
}
