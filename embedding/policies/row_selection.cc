#include "embedding/policies/row_selection.h"

#include "base/log.h"

namespace millrace {
namespace {

constexpr int kKeyBits = 128;
constexpr int kDigitBits = 8;

unsigned __int128 whole(const RowKey& key) {
  return static_cast<unsigned __int128>(key.worth) << 64 | key.hash;
}

}  // namespace

unsigned __int128 RowSelection::prefix(const RowKey& key) const {
  return bits_ == 0 ? 0 : whole(key) >> (kKeyBits - bits_);
}

void RowSelection::count(const RowKey& key, Counts& counts) const {
  if (prefix(key) != bound_) return;
  ++counts[static_cast<uint8_t>(whole(key) >> (kKeyBits - bits_ - kDigitBits))];
}

void RowSelection::narrow(const Counts& sums) {
  size_t digit = 0;
  while (digit < sums.size() && sums[digit] < left_) left_ -= sums[digit++];
  MILLRACE_CHECK(digit < sums.size()) << left_ << " rows are missing";
  bound_ = bound_ << kDigitBits | digit;
  bits_ += kDigitBits;
  // All rows of the bucket are selected, or the key is complete and identifies one row.
  done_ = sums[digit] == left_ || bits_ == kKeyBits;
}

bool RowSelection::selects(const RowKey& key) const { return prefix(key) <= bound_; }

}  // namespace millrace
