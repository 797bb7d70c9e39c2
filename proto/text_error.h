// Errors of protobuf's text parser, made helpful.
#ifndef MILLRACE_PROTO_TEXT_ERROR_H_
#define MILLRACE_PROTO_TEXT_ERROR_H_

#include <google/protobuf/message.h>

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace millrace {

struct TextError {
  int line = 0;  // from 1; 0: not known
  int column = 0;
  std::string what;  // with the nearest name
};

// Parses text format into `message`, whose former content is lost. Returns: the first mistake, or
// none.
std::optional<TextError> parse_text_strictly(absl::string_view text,
                                             google::protobuf::Message* message);

// Returns `no field "x"` and the nearest name among the fields of `message`.
std::string unknown_field(const google::protobuf::Descriptor& message, absl::string_view name);

// Returns `no extension [x]`, the nearest or all linked extensions of `message`, and a remedy for
// an extension that is not linked.
std::string unknown_extension(const google::protobuf::Descriptor& message, absl::string_view name);

}  // namespace millrace

#endif  // MILLRACE_PROTO_TEXT_ERROR_H_
