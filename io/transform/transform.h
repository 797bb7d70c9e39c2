// Transforms of whole columns of values. Each is a pure function of its arguments; FeatureTransform
// (io/feature/feature_transform.h) strings them together as a feature's configuration says.
#ifndef MILLRACE_IO_TRANSFORM_TRANSFORM_H_
#define MILLRACE_IO_TRANSFORM_TRANSFORM_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "io/column.h"
#include "proto/config.pb.h"

namespace millrace {

// MurmurHash64A of A. Appleby (2008): the 64-bit MurmurHash2, little-endian on every machine.
uint64_t murmur_hash_64a(absl::string_view bytes, uint64_t seed);

// One of the functions of HashTransform: XXH3 (https://xxhash.com), Fingerprint64 of FarmHash
// (https://github.com/google/farmhash), MurmurHash64A. FARM_HASH ignores the seed.
uint64_t hash_bytes(HashTransform::Function function, absl::string_view bytes, uint64_t seed);

// ids[i] = hash of the 8 little-endian bytes of ids[i].
void hash_ids(HashTransform::Function function, uint64_t seed, absl::Span<int64_t> ids);

// ids[i] = hash of texts[i]. REQUIRES: as many ids as texts.
void hash_texts(HashTransform::Function function, uint64_t seed, const StringValues& texts,
                absl::Span<int64_t> ids);

// ids[i] = ids[i], taken as unsigned, modulo divisor. REQUIRES: divisor >= 1.
void modulo_ids(uint64_t divisor, absl::Span<int64_t> ids);

// ids[i] = the count of boundaries that are less than or equal to numbers[i].
// REQUIRES: boundaries increase; no number is NaN.
void bucketize(absl::Span<const double> boundaries, absl::Span<const double> numbers,
               absl::Span<int64_t> ids);

// x = ln(1 + x) for x >= 0, -ln(1 - x) below (io/transform/log1p_kernels.h). REQUIRES: all are
// finite.
void signed_log1p(absl::Span<double> numbers);

// x = the nearest number in [min, max]. REQUIRES: min <= max.
void clip(double min, double max, absl::Span<double> numbers);

// x = 1 for x >= at_least, 0 below. REQUIRES: no number is NaN.
void threshold(double at_least, absl::Span<double> numbers);

}  // namespace millrace

#endif  // MILLRACE_IO_TRANSFORM_TRANSFORM_H_
