// A test for infinite values and not-a-number.
#ifndef MILLRACE_BASE_FINITE_H_
#define MILLRACE_BASE_FINITE_H_

#include <cstdint>
#include <cstring>

namespace millrace {

// Returns true if none of `count` floats is infinite or not-a-number; both have an exponent of all
// ones. Has no branch, so that compilers generate vector code. `values` need not be aligned.
inline bool all_finite(const float* values, int64_t count) {
  const char* bytes = reinterpret_cast<const char*>(values);
  uint32_t found = 0;
  for (int64_t i = 0; i < count; ++i) {
    uint32_t bits;
    std::memcpy(&bits, bytes + i * static_cast<int64_t>(sizeof(bits)), sizeof(bits));
    found |= static_cast<uint32_t>((bits & 0x7f800000u) == 0x7f800000u);
  }
  return found == 0;
}

}  // namespace millrace

#endif  // MILLRACE_BASE_FINITE_H_
