// Addresses of HTTP servers.
#ifndef MILLRACE_BASE_NET_HTTP_URL_H_
#define MILLRACE_BASE_NET_HTTP_URL_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace millrace {

struct HttpUrl {
  std::string host;  // a name or an IPv4 address
  int port = 80;
  std::string path;  // begins with a slash and does not end with one; "": none
};

// Parses "http://HOST", "http://HOST:PORT" and both with a path. Errors: InvalidArgument, with a
// predicate as the end of a sentence: `is "ftp://x"; it must be …`.
absl::StatusOr<HttpUrl> parse_http_url(absl::string_view url);

}  // namespace millrace

#endif  // MILLRACE_BASE_NET_HTTP_URL_H_
