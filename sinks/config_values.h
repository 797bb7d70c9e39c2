// The values of a configuration, by name.
#ifndef MILLRACE_SINKS_CONFIG_VALUES_H_
#define MILLRACE_SINKS_CONFIG_VALUES_H_

#include <google/protobuf/message.h>

#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"

namespace millrace {

// A field that is set.
struct ConfigValue {
  std::string path;  // "train.dense_optimizer.adam.learning_rate", "train.feature[2].name"
  // Integers are numbers, enum values and bytes are text.
  std::variant<double, bool, std::string> value;

  friend bool operator==(const ConfigValue&, const ConfigValue&) = default;
};

// Returns the scalar fields that are set in `message` and in the messages below it, in the order of
// their numbers; extensions are left out. `path`: that of the message, "" at the top.
std::vector<ConfigValue> config_values(const google::protobuf::Message& message,
                                       absl::string_view path = "");

// Returns a value as text: numbers as number_text(), true or false, or the text itself.
std::string to_text(const ConfigValue& value);

}  // namespace millrace

#endif  // MILLRACE_SINKS_CONFIG_VALUES_H_
