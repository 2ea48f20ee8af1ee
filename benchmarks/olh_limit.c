/* What one core can do: the OLH loop by hand, as a yardstick for the compiled one. Candidates stay in registers. */
#include <stddef.h>
#include <stdint.h>

#define FIRST 0x9E3779B1u
#define SECOND 0x85EBCA77u
#define THIRD 0xC2B2AE3Du

#ifdef __AVX512F__
#include <immintrin.h>

const char *olh_limit_vectors(void) { return "AVX-512 intrinsics"; }

static inline __m512i add_one(__m512i n, __m512i low, __m512i high, uint32_t seed, uint32_t start, uint32_t width)
{
    __m512i m = _mm512_mullo_epi32(_mm512_xor_si512(low, _mm512_set1_epi32((int)seed)), _mm512_set1_epi32((int)FIRST));
    m = _mm512_add_epi32(_mm512_xor_si512(m, _mm512_srli_epi32(m, 15)), high);
    m = _mm512_mullo_epi32(m, _mm512_set1_epi32((int)SECOND));
    m = _mm512_mullo_epi32(_mm512_xor_si512(m, _mm512_srli_epi32(m, 13)), _mm512_set1_epi32((int)THIRD));
    m = _mm512_sub_epi32(_mm512_xor_si512(m, _mm512_srli_epi32(m, 16)), _mm512_set1_epi32((int)start));
    const __mmask16 inside = _mm512_cmplt_epu32_mask(m, _mm512_set1_epi32((int)width));
    return _mm512_mask_sub_epi32(n, inside, n, _mm512_set1_epi32(-1));
}

/* candidates must be a multiple of 64 */
void olh_limit(const uint32_t *seeds, const uint32_t *starts, const uint32_t *widths, size_t reports,
               const uint32_t *low, const uint32_t *high, size_t candidates, uint32_t *support)
{
    for (size_t c = 0; c < candidates; c += 64) {
        __m512i l[4], h[4], n[4];
        for (int k = 0; k < 4; k++) {
            l[k] = _mm512_loadu_si512(low + c + 16 * k);
            h[k] = _mm512_loadu_si512(high + c + 16 * k);
            n[k] = _mm512_loadu_si512(support + c + 16 * k);
        }
        for (size_t r = 0; r < reports; r++)
            for (int k = 0; k < 4; k++)
                n[k] = add_one(n[k], l[k], h[k], seeds[r], starts[r], widths[r]);
        for (int k = 0; k < 4; k++)
            _mm512_storeu_si512(support + c + 16 * k, n[k]);
    }
}
#else
const char *olh_limit_vectors(void) { return "the C compiler's own vectors, without AVX-512"; }

void olh_limit(const uint32_t *seeds, const uint32_t *starts, const uint32_t *widths, size_t reports,
               const uint32_t *restrict low, const uint32_t *restrict high, size_t candidates,
               uint32_t *restrict support)
{
    for (size_t r = 0; r < reports; r++)
        for (size_t c = 0; c < candidates; c++) {
            uint32_t m = (seeds[r] ^ low[c]) * FIRST;
            m = ((m ^ (m >> 15)) + high[c]) * SECOND;
            m = (m ^ (m >> 13)) * THIRD;
            support[c] += (m ^ (m >> 16)) - starts[r] < widths[r];
        }
}
#endif
