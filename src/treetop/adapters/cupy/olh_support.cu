// Support counts of OLH: how many reports hash each candidate into the bucket they reported.
// The hash is that of treetop.oracles.hashing; FIRST, SECOND and THIRD are its primes, given when compiled.
// A thread keeps PER_THREAD candidates in registers, and a block walks over reports in shared memory, which all its
// threads read at once. 32-bit integers only: three multiplications, and no division, for each pair.

extern "C" __global__ void __launch_bounds__(THREADS)
olh_support(const unsigned *seeds, const unsigned *starts, const unsigned *widths, unsigned long long reports,
            const unsigned *low, const unsigned *high, unsigned candidates, unsigned per_block,
            unsigned long long *support)
{
    __shared__ uint4 tile[TILE];
    const unsigned first_candidate = blockIdx.x * blockDim.x * PER_THREAD + threadIdx.x;
    const unsigned long long first_report = (unsigned long long)blockIdx.y * per_block;
    unsigned left[PER_THREAD], right[PER_THREAD], count[PER_THREAD];

#pragma unroll
    for (int k = 0; k < PER_THREAD; k++) {
        const unsigned c = first_candidate + k * blockDim.x;
        left[k] = c < candidates ? low[c] : 0;
        right[k] = (c < candidates ? high[c] : 0) * SECOND;  // (x + high) SECOND = x SECOND + high SECOND
        count[k] = 0;
    }
    for (unsigned done = 0; done < per_block; done += TILE) {
        __syncthreads();
        for (unsigned t = threadIdx.x; t < TILE; t += blockDim.x) {
            const unsigned long long r = first_report + done + t;
            const bool inside = r < reports;  // a width of zero supports nobody
            tile[t] = make_uint4(inside ? seeds[r] : 0, inside ? starts[r] : 0, inside ? widths[r] : 0, 0);
        }
        __syncthreads();
#pragma unroll 4
        for (int t = 0; t < TILE; t++) {
            const uint4 report = tile[t];
#pragma unroll
            for (int k = 0; k < PER_THREAD; k++) {
                unsigned mixed = (report.x ^ left[k]) * FIRST;
                mixed = (mixed ^ (mixed >> 15)) * SECOND + right[k];
                mixed = (mixed ^ (mixed >> 13)) * THIRD;
                mixed ^= mixed >> 16;
                count[k] += mixed - report.y < report.z;
            }
        }
    }
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++) {
        const unsigned c = first_candidate + k * blockDim.x;
        if (c < candidates && count[k]) atomicAdd(&support[c], (unsigned long long)count[k]);
    }
}
