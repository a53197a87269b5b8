/* XXH3 as the proofs see it: it reads the bytes that it is given, and any number may come out. */
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t low64, high64;
} XXH128_hash_t;

typedef struct {
    uint64_t any;
} XXH3_state_t;

/*@ requires size == 0 || \valid_read((char *)bytes + (0 .. size - 1));
    assigns \result \from indirect:seed, indirect:((char *)bytes)[0 .. size - 1]; */
XXH128_hash_t XXH3_128bits_withSeed(const void *bytes, size_t size, uint64_t seed);

/*@ requires size == 0 || \valid_read((char *)bytes + (0 .. size - 1));
    assigns \result \from indirect:((char *)bytes)[0 .. size - 1]; */
uint64_t XXH3_64bits(const void *bytes, size_t size);

/*@ requires \valid(state); assigns *state \from \nothing; */
void XXH3_64bits_reset(XXH3_state_t *state);

/*@ requires \valid(state); requires size == 0 || \valid_read((char *)bytes + (0 .. size - 1));
    assigns *state \from indirect:((char *)bytes)[0 .. size - 1]; */
void XXH3_64bits_update(XXH3_state_t *state, const void *bytes, size_t size);

/*@ requires \valid_read(state); assigns \result \from indirect:*state; */
uint64_t XXH3_64bits_digest(const XXH3_state_t *state);
