// Environment variables in a configuration.
//
//   ${env:NAME}          the value of the variable NAME
//   ${env:NAME:default}  the same, or `default` where NAME is not set
//   ${secret:NAME}       the value, which is never written: everything that prints or saves a
//                        configuration has this text
//
// They may be parts of any string; secrets only in options of hooks and registered parts. A value
// is not searched for variables.
//
// All functions may be called from any thread while no thread changes the environment.
#ifndef MILLRACE_PROTO_CONFIG_VARIABLES_H_
#define MILLRACE_PROTO_CONFIG_VARIABLES_H_

#include <google/protobuf/message.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace millrace {

// Replaces each ${env:...} in `text`. Idempotent.
// Errors: InvalidArgument for a variable that is not set and has no default, for a value that is
// not UTF-8 or holds a variable, and for a misspelt variable.
absl::Status expand_environment(std::string* text);

// Replaces each ${env:...} in all strings of `config`. Errors: as above, with the path of the
// string.
absl::Status expand_environment(JobConfig* config);

// Replaces each ${secret:NAME} in all strings of `message`, whose path is `where`. Called where a
// hook or a registered part is made, with a copy of its configuration.
// Errors: InvalidArgument for a variable that is not set, with the path of the string.
absl::Status resolve_secrets(const std::string& where, google::protobuf::Message* message);

// Returns a copy of `message` with its secrets resolved. Errors: as resolve_secrets().
template <typename Config>
absl::StatusOr<Config> with_secrets(const std::string& where, const Config& message) {
  Config resolved = message;
  if (absl::Status status = resolve_secrets(where, &resolved); !status.ok()) return status;
  return resolved;
}

// Checks that secrets are in options of hooks and registered parts alone, where resolve_secrets()
// is called. Errors: InvalidArgument with the first path.
absl::Status check_places_of_secrets(const JobConfig& config);

}  // namespace millrace

#endif  // MILLRACE_PROTO_CONFIG_VARIABLES_H_
