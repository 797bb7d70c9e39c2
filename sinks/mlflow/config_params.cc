#include "sinks/mlflow/config_params.h"

#include "sinks/config_values.h"
#include "sinks/valid_utf8.h"

namespace millrace {
namespace {

// Returns valid UTF-8 of at most kMostParamCharacters.
std::string cut(const std::string& text) {
  std::string valid = valid_utf8(text);
  size_t characters = 0;
  for (size_t i = 0; i < valid.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(valid[i]) & 0xC0) != 0x80;
    if (begins && ++characters > kMostParamCharacters) return valid.substr(0, i);
  }
  return valid;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> config_params(
    const google::protobuf::Message& config, size_t most) {
  std::vector<std::pair<std::string, std::string>> params;
  for (const ConfigValue& value : config_values(config, most)) {
    params.emplace_back(value.path, cut(to_text(value)));
  }
  return params;
}

}  // namespace millrace
