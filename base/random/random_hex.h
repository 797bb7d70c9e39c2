// Unique random text.
#ifndef MILLRACE_BASE_RANDOM_RANDOM_HEX_H_
#define MILLRACE_BASE_RANDOM_RANDOM_HEX_H_

#include <cstddef>
#include <string>

namespace millrace {

// Returns random lower-case hexadecimal digits, from the randomness of the system. REQUIRES:
// `digits` is a multiple of 8.
std::string random_hex(size_t digits);

}  // namespace millrace

#endif  // MILLRACE_BASE_RANDOM_RANDOM_HEX_H_
