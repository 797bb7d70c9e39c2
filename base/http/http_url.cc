#include "base/http/http_url.h"

#include <arpa/inet.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace millrace {
namespace {

constexpr int kMostPort = 65535;
constexpr int kTlsPort = 443;

// Omits an address that may have a password, since logs have the text.
absl::Status refused(absl::string_view url, absl::string_view why) {
  const bool may_have_secret = url.find_first_of("@?") != url.npos;
  return absl::InvalidArgumentError(
      may_have_secret ? absl::StrCat("is not shown, since it may have a password; ", why)
                      : absl::StrCat("is \"", url, "\"; ", why));
}

bool is_host(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_';
  });
}

bool is_ipv6(const std::string& text) {
  in6_addr address;
  return inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

bool is_path(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isgraph(static_cast<unsigned char>(c)) && c != '?' && c != '#';
  });
}

// Removes a scheme from the front of the address.
bool consume_scheme(absl::string_view* url, absl::string_view scheme) {
  if (!absl::StartsWithIgnoreCase(*url, scheme)) return false;
  url->remove_prefix(scheme.size());
  return true;
}

}  // namespace

absl::StatusOr<HttpUrl> parse_http_url(absl::string_view url) {
  constexpr absl::string_view kForm =
      "it must have the form http://HOST:PORT or https://HOST:PORT, such as http://127.0.0.1:5000";
  absl::string_view rest = url;
  HttpUrl parsed;
  parsed.tls = consume_scheme(&rest, "https://");
  if (!parsed.tls && !consume_scheme(&rest, "http://")) return refused(url, kForm);
  if (parsed.tls) parsed.port = kTlsPort;
  const size_t slash = std::min(rest.find('/'), rest.size());
  absl::string_view path = rest.substr(slash);
  while (absl::ConsumeSuffix(&path, "/")) {
  }
  absl::string_view host = rest.substr(0, slash);
  if (host.find('@') != host.npos) {
    return absl::InvalidArgumentError(
        "has a user name or a password, which logs would show; give the address alone, and the "
        "user name and the password in the environment");
  }
  // The colons of an IPv6 address are within brackets.
  const size_t bracket = absl::StartsWith(host, "[") ? host.find(']') : host.npos;
  const bool ipv6 = bracket != host.npos;
  if (const size_t colon = host.find(':', ipv6 ? bracket : 0); colon != host.npos) {
    if (!absl::SimpleAtoi(host.substr(colon + 1), &parsed.port) || parsed.port < 1 ||
        parsed.port > kMostPort) {
      return refused(url, absl::StrCat("the port must be a number from 1 to ", kMostPort));
    }
    host = host.substr(0, colon);
  }
  parsed.host = std::string(ipv6 ? host.substr(1, host.size() - 2) : host);
  const bool valid = ipv6 ? absl::EndsWith(host, "]") && is_ipv6(parsed.host) : is_host(host);
  if (!valid) {
    return refused(url, absl::StrCat(kForm,
                                     "; HOST is a name, an IPv4 address or, in brackets, an IPv6 "
                                     "address"));
  }
  if (!is_path(path)) return refused(url, "the path has a space, \"?\" or \"#\"; remove them");
  parsed.path = std::string(path);
  return parsed;
}

bool is_this_machine(absl::string_view host) {
  in_addr address;
  const bool is_loopback = absl::StartsWith(host, "127.") &&
                           inet_pton(AF_INET, std::string(host).c_str(), &address) == 1;
  return is_loopback || host == "::1" || absl::EqualsIgnoreCase(host, "localhost");
}

std::string host_and_port(absl::string_view host, int port) {
  const bool ipv6 = host.find(':') != host.npos;
  return absl::StrCat(ipv6 ? "[" : "", host, ipv6 ? "]:" : ":", port);
}

}  // namespace millrace
