#include "bench/id_workload.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "embedding/id_map/id_hash.h"

namespace millrace {
namespace {

constexpr int64_t kMostIds = int64_t{1} << 31;
// Bits that choose a bucket, which are equal for all hostile ids: with this seed, a 128th of a
// segment would get all ids.
constexpr uint64_t kKnownSeed = 1, kSameBits = 0x1fc0;
constexpr uint64_t kDrawSeed = 20261121;

int64_t shifted(int64_t i, int bits) {
  return static_cast<int64_t>(static_cast<uint64_t>(i) << bits);
}

// The finalizer of MurmurHash3 (A. Appleby, 2010), a bijection.
int64_t scrambled(int64_t i) {
  auto x = static_cast<uint64_t>(i) + 1;
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdULL;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return static_cast<int64_t>(x ^ (x >> 33));
}

std::vector<int64_t> adversarial_ids(int64_t begin, int64_t count) {
  const IdHash hash(kKnownSeed);
  std::vector<int64_t> ids;
  for (int64_t id = 0, number = 0; number < begin + count; ++id) {
    if ((hash(id) & kSameBits) != 0) continue;
    if (number++ >= begin) ids.push_back(id);
  }
  return ids;
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> benchmark_ids(const std::string& kind, int64_t begin,
                                                   int64_t count) {
  if (begin < 0 || count < 0 || begin + count > kMostIds) {
    return absl::InvalidArgumentError(absl::StrCat("--rows: ids ", begin, " to ", begin + count,
                                                   " of a benchmark; at most 2^31 are there"));
  }
  if (kind == "adversarial") return adversarial_ids(begin, count);
  int64_t (*id)(int64_t) = nullptr;
  if (kind == "random") id = scrambled;
  if (kind == "strided") id = [](int64_t i) { return shifted(i, 12); };
  if (kind == "low_bits_equal") id = [](int64_t i) { return shifted(i, 32); };
  if (kind == "high_bits_equal") {
    id = [](int64_t i) { return std::numeric_limits<int64_t>::min() + i; };
  }
  if (id == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--ids is \"", kind, "\"",
        did_you_mean(kind,
                     {"random", "strided", "low_bits_equal", "high_bits_equal", "adversarial"})));
  }
  std::vector<int64_t> ids(count);
  for (int64_t i = 0; i < count; ++i) ids[i] = id(begin + i);
  return ids;
}

std::vector<int64_t> draw_ids(const std::vector<int64_t>& ids, double zipf, int64_t count) {
  std::vector<double> cumulative(zipf == 0 ? 0 : ids.size());
  double total = 0;
  for (size_t rank = 0; rank < cumulative.size(); ++rank) {
    cumulative[rank] = total += std::pow(static_cast<double>(rank + 1), -zipf);
  }
  std::mt19937_64 random(kDrawSeed);
  std::vector<int64_t> drawn(count);
  for (int64_t& id : drawn) {
    if (zipf == 0) {
      id = ids[random() % ids.size()];
      continue;
    }
    const double weight = static_cast<double>(random() >> 11) * 0x1p-53 * total;
    const auto rank =
        std::upper_bound(cumulative.begin(), cumulative.end() - 1, weight) - cumulative.begin();
    // Frequent ids are spread over all ids.
    id = ids[static_cast<uint64_t>(rank) * 2654435761 % ids.size()];  // a prime
  }
  return drawn;
}

}  // namespace millrace
