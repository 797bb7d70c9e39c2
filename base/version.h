// The version of Millrace, defined only here.
#ifndef MILLRACE_BASE_VERSION_H_
#define MILLRACE_BASE_VERSION_H_

namespace millrace {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace millrace

#endif  // MILLRACE_BASE_VERSION_H_
