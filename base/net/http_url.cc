#include "base/net/http_url.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace millrace {
namespace {

constexpr int kMostPort = 65535;

absl::Status refused(absl::string_view url, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("is \"", url, "\"; ", why));
}

bool is_host(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_';
  });
}

bool is_path(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isgraph(static_cast<unsigned char>(c)) && c != '?' && c != '#';
  });
}

}  // namespace

absl::StatusOr<HttpUrl> parse_http_url(absl::string_view url) {
  constexpr absl::string_view kForm =
      "it must have the form http://HOST:PORT, such as http://127.0.0.1:5000";
  absl::string_view rest = url;
  if (absl::StartsWithIgnoreCase(url, "https://")) {
    return refused(url,
                   "https is not supported: run a proxy on this machine that forwards to the "
                   "server with TLS, and give the address of the proxy, such as "
                   "http://127.0.0.1:5000");
  }
  if (!absl::ConsumePrefix(&rest, "http://")) return refused(url, kForm);
  const size_t slash = std::min(rest.find('/'), rest.size());
  absl::string_view path = rest.substr(slash);
  while (absl::ConsumeSuffix(&path, "/")) {
  }
  absl::string_view host = rest.substr(0, slash);
  if (host.find('@') != host.npos) {
    return absl::InvalidArgumentError(
        "has a user name or a password, which are not supported; give the address alone");
  }
  HttpUrl parsed;
  if (const size_t colon = host.find(':'); colon != host.npos) {
    if (!absl::SimpleAtoi(host.substr(colon + 1), &parsed.port) || parsed.port < 1 ||
        parsed.port > kMostPort) {
      return refused(url, absl::StrCat("the port must be a number from 1 to ", kMostPort));
    }
    host = host.substr(0, colon);
  }
  if (!is_host(host)) {
    return refused(url, absl::StrCat(kForm, "; HOST is a name or an IPv4 address"));
  }
  if (!is_path(path)) return refused(url, "the path has a space, \"?\" or \"#\"; remove them");
  parsed.host = std::string(host);
  parsed.path = std::string(path);
  return parsed;
}

}  // namespace millrace
