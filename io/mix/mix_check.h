// The check of a configuration of mixed data.
#ifndef MILLRACE_IO_MIX_MIX_CHECK_H_
#define MILLRACE_IO_MIX_MIX_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace millrace {

// Each has its own threads, and a place in every cursor.
inline constexpr int kMaxMixSources = 64;

// A source in messages: mix.source[1] "clicks".
std::string mix_source_name(const MixConfig& mix, int source);

// Checks data.mix, except the data of each source. Errors: InvalidArgument that begins with
// `where`, the place of the mix in the configuration, and names the field.
absl::Status check_mix(absl::string_view where, const DataConfig& data);

}  // namespace millrace

#endif  // MILLRACE_IO_MIX_MIX_CHECK_H_
