// A client of an HTTP server.
#ifndef MILLRACE_BASE_HTTP_HTTP_CLIENT_H_
#define MILLRACE_BASE_HTTP_HTTP_CLIENT_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/http/http_url.h"

namespace millrace {

struct HttpRequest {
  const char* method = "GET";
  std::string target;     // below the path of the server, with a slash at the front
  std::string body = "";  // "": none
  std::string content_type = "application/json";  // of the body
  std::vector<std::pair<std::string, std::string>> headers = {};
};

struct HttpResponse {
  int status = 0;  // such as 200
  std::string body;
};

// The value of the header field Authorization. Default: no such field.
struct HttpCredentials {
  std::string token = "";                // of a bearer; "": see `user`
  std::string user = "", password = "";  // "": none
};

// Verification of the certificate of a TLS server.
struct HttpTrust {
  // A file of certificates (PEM) or a folder in the form of `openssl rehash`. Default:
  // SSL_CERT_FILE and SSL_CERT_DIR of the environment; without them the certificates of the system.
  std::string ca_path = "";
  std::string ca_setting = "SSL_CERT_FILE";  // names the setting of `ca_path` in error texts
  // If false, any certificate is accepted, also the certificate of an attacker.
  bool verify = true;
};

struct HttpClientOptions {
  // For a whole request: the look-up of the name, connections to each address of the name, TLS, the
  // request and the response.
  absl::Duration timeout = absl::Seconds(10);
  size_t most_response_bytes = 16 << 20;  // of the body
  HttpCredentials credentials = {};
  HttpTrust trust = {};
};

// Sends requests to one server, each over a new connection. Uses the proxy that the environment
// names at construction (http_proxy, https_proxy, no_proxy), but none for a server on this machine.
// A proxy for https forwards the connection (CONNECT) and cannot read the requests. Safe for
// concurrent use.
//
//   const HttpClient client(url, {.timeout = absl::Seconds(5)});
//   ASSIGN_OR_RETURN(const HttpResponse response, client.send({.target = "/version"}));
class HttpClient {
 public:
  // Reads the environment and the certificates, but contacts nobody.
  HttpClient(const HttpUrl& server, HttpClientOptions options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Returns the response, also one with an error status; redirections are not followed. Takes at
  // most `options.timeout`, or `limit` if that is shorter. Errors, with the address of the server:
  // DeadlineExceeded; Unavailable if the server or the proxy cannot be reached, the certificate is
  // refused, or the server closes the connection early or does not send HTTP; FailedPrecondition if
  // certificates cannot be read, or the credentials or the proxy of the environment are invalid.
  absl::StatusOr<HttpResponse> send(const HttpRequest& request,
                                    absl::Duration limit = absl::InfiniteDuration()) const;

 private:
  class Impl;

  const absl::StatusOr<std::unique_ptr<Impl>> impl_;
  const std::string address_;  // for error texts
};

}  // namespace millrace

#endif  // MILLRACE_BASE_HTTP_HTTP_CLIENT_H_
