#include "base/random/random_hex.h"

#include <random>

#include "absl/strings/str_cat.h"

namespace millrace {

std::string random_hex(size_t digits) {
  std::random_device random;
  std::string text;
  while (text.size() < digits) absl::StrAppend(&text, absl::Hex(random(), absl::kZeroPad8));
  return text;
}

}  // namespace millrace
