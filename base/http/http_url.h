// Addresses of HTTP servers.
#ifndef MILLRACE_BASE_HTTP_HTTP_URL_H_
#define MILLRACE_BASE_HTTP_HTTP_URL_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace millrace {

struct HttpUrl {
  std::string host;  // a name, an IPv4 address, or an IPv6 address without brackets
  int port = 80;
  std::string path = "";  // begins with a slash and does not end with one; "": none
  bool tls = false;       // https
};

// Parses "http://HOST", "http://HOST:PORT", the same with "https://", and each with a path. HOST is
// a name, an IPv4 address, or an IPv6 address in brackets. Errors: InvalidArgument, with a
// predicate as the end of a sentence: `is "ftp://x"; it must be …`. The text omits an address with
// "@" or "?", which may have a password.
absl::StatusOr<HttpUrl> parse_http_url(absl::string_view url);

// Returns true for localhost and loopback addresses.
bool is_this_machine(absl::string_view host);

// Returns HOST:PORT, with brackets around an IPv6 address.
std::string host_and_port(absl::string_view host, int port);

}  // namespace millrace

#endif  // MILLRACE_BASE_HTTP_HTTP_URL_H_
