#include "base/http/http_proxy.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace millrace {
namespace {

// Returns the variable that is set, the name in small letters first; "" if none is.
std::string set_variable(absl::string_view name) {
  for (const std::string& variable : {std::string(name), absl::AsciiStrToUpper(name)}) {
    const char* const value = std::getenv(variable.c_str());
    if (value != nullptr && *value != '\0') return variable;
  }
  return "";
}

std::string value_of(const std::string& variable) {
  return variable.empty() ? "" : std::getenv(variable.c_str());
}

// Returns true if an entry of no_proxy, such as "example.com" or ".example.com:8080", covers the
// server.
bool covers(absl::string_view entry, const HttpUrl& server) {
  if (entry == "*") return true;
  if (absl::ConsumeSuffix(&entry, absl::StrCat(":", server.port)) && entry.empty()) return false;
  absl::ConsumePrefix(&entry, ".");
  if (absl::ConsumePrefix(&entry, "[")) absl::ConsumeSuffix(&entry, "]");
  return !entry.empty() && (absl::EqualsIgnoreCase(entry, server.host) ||
                            absl::EndsWithIgnoreCase(server.host, absl::StrCat(".", entry)));
}

// Decodes %XX.
std::string percent_decoded(absl::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    int code = 0;
    if (text[i] == '%' && i + 3 <= text.size() &&
        absl::SimpleHexAtoi(text.substr(i + 1, 2), &code)) {
      decoded.push_back(static_cast<char>(code));
      i += 2;
    } else {
      decoded.push_back(text[i]);
    }
  }
  return decoded;
}

}  // namespace

absl::StatusOr<std::optional<HttpProxy>> proxy_of_environment(const HttpUrl& server) {
  const std::string variable = set_variable(server.tls ? "https_proxy" : "http_proxy");
  if (variable.empty() || is_this_machine(server.host)) return std::nullopt;
  const std::string bypassed = value_of(set_variable("no_proxy"));
  for (const absl::string_view entry : absl::StrSplit(bypassed, absl::ByAnyChar(", "))) {
    if (covers(entry, server)) return std::nullopt;
  }
  const std::string value = value_of(variable);
  absl::string_view rest = value;
  HttpProxy proxy{.variable = variable, .url = {}, .authorization = ""};
  std::string scheme = "http://";
  if (const size_t end = rest.find("://"); end != rest.npos) {
    scheme = absl::AsciiStrToLower(rest.substr(0, end + 3));
    rest.remove_prefix(end + 3);
  }
  if (const size_t at = rest.rfind('@'); at != rest.npos) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(rest.substr(0, at), absl::MaxSplits(':', 1));
    proxy.authorization =
        basic_authorization(percent_decoded(parts.first), percent_decoded(parts.second));
    rest.remove_prefix(at + 1);
  }
  const absl::StatusOr<HttpUrl> url = parse_http_url(absl::StrCat(scheme, rest));
  if (!url.ok() || url->tls) {
    return absl::FailedPreconditionError(
        absl::StrCat("the environment variable ", variable,
                     " names no proxy that is spoken to over http; give [http://]HOST:PORT"));
  }
  proxy.url = *url;
  return proxy;
}

std::string basic_authorization(absl::string_view user, absl::string_view password) {
  return absl::StrCat("Basic ", absl::Base64Escape(absl::StrCat(user, ":", password)));
}

}  // namespace millrace
