// The version of Millrace, and the one place that defines it.
#ifndef MILLRACE_BASE_VERSION_H_
#define MILLRACE_BASE_VERSION_H_

namespace millrace {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace millrace

#endif  // MILLRACE_BASE_VERSION_H_
