// Sums over buckets of predictions.
#ifndef MILLRACE_METRICS_BUCKET_SUMS_H_
#define MILLRACE_METRICS_BUCKET_SUMS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/byte_stream.h"

namespace millrace {

// One sum for each of n buckets of equal width. Bucket b has the predictions in (b/n, (b+1)/n]; the
// first bucket also has predictions of at most 0, and the last bucket predictions above 1. For a <=
// b, the bucket of a is not above the bucket of b. The sums take 8 n bytes for any number of
// values.
class BucketSums {
 public:
  // The sum of one bucket in the format of save().
  struct Entry {
    uint32_t bucket = 0;
    double sum = 0;
  };

  // REQUIRES: buckets is 1 to 1000000.
  explicit BucketSums(int64_t buckets) : sums_(buckets) {}

  // Adds a value to the bucket of a prediction. REQUIRES: neither is not-a-number.
  void add(double prediction, double value) { sums_[bucket_of(prediction)] += value; }
  // REQUIRES: both have the same number of buckets.
  void add(const BucketSums& other);
  void add(const std::vector<Entry>& entries);

  // Sets all sums to 0.
  void reset() { sums_.assign(sums_.size(), 0.0); }

  const std::vector<double>& sums() const { return sums_; }

  // Appends the sums other than 0: their number, then bucket and sum (12 bytes) of each, in the
  // order of buckets.
  void save(ByteWriter* writer) const;
  // Reads the bytes of save() of sums with this number of buckets, without adding them. Allocates
  // memory at most in proportion to the bytes of `reader`. Returns none for other bytes.
  std::optional<std::vector<Entry>> read(ByteReader* reader) const;

 private:
  size_t bucket_of(double prediction) const;

  std::vector<double> sums_;
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_BUCKET_SUMS_H_
