// The proxy of a request, and the text of credentials.
#ifndef MILLRACE_BASE_HTTP_HTTP_PROXY_H_
#define MILLRACE_BASE_HTTP_HTTP_PROXY_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/http/http_url.h"

namespace millrace {

struct HttpProxy {
  std::string variable;  // of the environment, such as https_proxy
  HttpUrl url;
  std::string authorization;  // the value of Proxy-Authorization; "": none
};

// Returns the proxy that the environment names for requests to `server`: http_proxy or HTTP_PROXY
// for http, https_proxy or HTTPS_PROXY for https, with the form [http://][USER:PASSWORD@]HOST:PORT.
// None if the variable is missing or empty, if the server is this machine (localhost or a loopback
// address), or if no_proxy or NO_PROXY has "*", the host of the server or a domain above it.
// Errors: FailedPrecondition, naming the variable but not its password.
absl::StatusOr<std::optional<HttpProxy>> proxy_of_environment(const HttpUrl& server);

// Returns the value of a header field for a user name and a password (RFC 7617).
std::string basic_authorization(absl::string_view user, absl::string_view password);

}  // namespace millrace

#endif  // MILLRACE_BASE_HTTP_HTTP_PROXY_H_
