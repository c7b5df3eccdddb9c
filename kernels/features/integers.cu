// Integer operations beyond addition: one result row per operation, each row `n` long.
extern "C" __global__ void integers(const unsigned *a_in, const unsigned *b_in, unsigned *out,
                                    int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    unsigned a = a_in[i];
    unsigned b = b_in[i];
    int sa = (int)a;
    int sb = (int)b;
    unsigned long long wide = (unsigned long long)a << 32 | b;
    long long signed_wide = (long long)wide;
    int row = 0;
    auto put = [&](unsigned value) { out[row++ * n + i] = value; };

    put(__popc(a));
    put(__clz(a));
    put(__ffs(a));
    put(__brev(a));
    put(__byte_perm(a, b, 0x2615));
    put(__byte_perm(a, b, a & 0x7777));
    put(__funnelshift_l(a, b, b & 31));
    put(__funnelshift_r(a, b, a & 31));
    put(__umulhi(a, b));
    put(__mulhi(sa, sb));
    put(a / (b | 1));
    put(a % (b | 1));
    put(sa / (sb >> 20 | 1));
    put(sa % (sb >> 20 | 1));
    put(abs(sa));
    put(min(sa, sb));
    put(max(a, b));
    put(__usad(a, b, 7));
    put(__sad(sa, sb, 9));
    put(__dp4a(a, b, 1000u));
    put(__dp4a(sa, sb, -1000));
    put(sa >> (b & 31));
    put(a << (b & 31));
    put(__popcll(wide));
    put(__clzll(wide));
    put((unsigned)(wide * (wide >> 7) >> 32));
    put((unsigned)(wide / ((unsigned long long)b * 3 + 1)));
    put((unsigned)(wide % ((unsigned long long)b * 3 + 1)));
    put((unsigned)(signed_wide / (sb | 1)));
    put((unsigned)(signed_wide >> (a & 63)));
    put((unsigned)(wide << (b & 63) >> 32));
    put((a & b) ^ (~a | (b >> 3)));
    put((a & 0xff00ff00) | (b & 0x00ff00ff));
    put(a % 10 + b / 7);
    put((sa < sb) + 2 * (a < b) + 4 * (signed_wide < 0) + 8 * (wide > 0x8000000000000000ull));
    put(__hadd(sa, sb) ^ __uhadd(a, b));
}
