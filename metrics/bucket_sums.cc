#include "metrics/bucket_sums.h"

#include <algorithm>
#include <cmath>

namespace millrace {
namespace {

constexpr size_t kEntryBytes = 12;  // uint32 and float64

}  // namespace

void BucketSums::add(const BucketSums& other) {
  for (size_t i = 0; i < sums_.size(); ++i) sums_[i] += other.sums_[i];
}

void BucketSums::add(const std::vector<Entry>& entries) {
  for (const Entry& entry : entries) sums_[entry.bucket] += entry.sum;
}

void BucketSums::save(ByteWriter* writer) const {
  const size_t zeros = std::count(sums_.begin(), sums_.end(), 0.0);
  writer->write_uint32(static_cast<uint32_t>(sums_.size() - zeros));
  for (size_t i = 0; i < sums_.size(); ++i) {
    if (sums_[i] == 0) continue;
    writer->write_uint32(static_cast<uint32_t>(i));
    writer->write_double(sums_[i]);
  }
}

std::optional<std::vector<BucketSums::Entry>> BucketSums::read(ByteReader* reader) const {
  const size_t count = reader->read_uint32();
  if (!reader->ok() || count > reader->remaining() / kEntryBytes) return std::nullopt;
  std::vector<Entry> entries(count);
  for (size_t i = 0; i < count; ++i) {
    entries[i].bucket = reader->read_uint32();
    entries[i].sum = reader->read_double();
    const bool in_order = i == 0 || entries[i].bucket > entries[i - 1].bucket;
    if (!in_order || entries[i].bucket >= sums_.size() || !std::isfinite(entries[i].sum)) {
      return std::nullopt;
    }
  }
  return entries;
}

size_t BucketSums::bucket_of(double prediction) const {
  // The product is exact for predictions of float32 (24 bits) and at most 2^29 buckets, so every
  // prediction is compared with the exact bounds. The clamp precedes the conversion to an integer,
  // which is undefined for infinity.
  const double count = static_cast<double>(sums_.size());
  return static_cast<size_t>(std::clamp(std::ceil(prediction * count) - 1, 0.0, count - 1));
}

}  // namespace millrace
