#include "base/http/http_client.h"

#include <fcntl.h>
#include <netdb.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/http/http_proxy.h"
#include "base/mutex.h"
#include "base/signals/signals.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using SteadyClock = std::chrono::steady_clock;
using Time = SteadyClock::time_point;
using Request = http::request<http::string_body>;

constexpr size_t kMostResponseHeadBytes = 65536;
// Bundles of certificates of Debian, Fedora, openSUSE, Alpine and others.
constexpr const char* kSystemBundles[] = {
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
};

// Returns the error of a step of a request.
absl::Status failed(absl::string_view doing, const error_code& error,
                    absl::string_view advice = "") {
  if (error == asio::error::timed_out) {
    return absl::DeadlineExceededError(absl::StrCat(doing, ": no time is left", advice));
  }
  return absl::UnavailableError(absl::StrCat(doing, ": ", error.message(), advice));
}

// The answer of the resolver.
struct Lookup {
  Mutex mutex;
  bool finished ABSL_GUARDED_BY(mutex) = false;
  std::string message ABSL_GUARDED_BY(mutex) = "the name has no address";  // if it has none
  std::vector<tcp::endpoint> endpoints ABSL_GUARDED_BY(mutex);
};

void look_up(const std::string& name, int port, Lookup& lookup) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(name.c_str(), std::to_string(port).c_str(), &hints, &found);
  const int system_error = errno;
  MutexLock lock(lookup.mutex);
  if (error != 0) {
    lookup.message = error == EAI_SYSTEM ? std::strerror(system_error) : ::gai_strerror(error);
  }
  for (const addrinfo* entry = found; error == 0 && entry != nullptr; entry = entry->ai_next) {
    tcp::endpoint endpoint;
    if (entry->ai_addrlen > endpoint.capacity()) continue;
    std::memcpy(endpoint.data(), entry->ai_addr, entry->ai_addrlen);
    lookup.endpoints.push_back(endpoint);
  }
  if (error == 0) ::freeaddrinfo(found);
  lookup.finished = true;
}

// Returns the addresses of a host, at least one. getaddrinfo() has no deadline, so a thread calls
// it. Asio's resolver would join its thread, which a resolver without a network delays for long.
absl::StatusOr<std::vector<tcp::endpoint>> resolve(const std::string& name, int port,
                                                   Time deadline) {
  error_code not_literal;
  const asio::ip::address literal = asio::ip::make_address(name, not_literal);
  if (!not_literal) {
    return std::vector<tcp::endpoint>{{literal, static_cast<uint16_t>(port)}};
  }
  // Shared by this function and the thread, which may outlive the call.
  const auto lookup = std::make_shared<Lookup>();
  std::thread([name, port, lookup] {
    block_signals();
    look_up(name, port, *lookup);
  }).detach();
  MutexLock lock(lookup->mutex);
  const absl::Duration time = absl::FromChrono(deadline - SteadyClock::now());
  if (!lookup->mutex.await_for(time, [&] { return lookup->finished; })) {
    return failed("looking up the name", asio::error::timed_out);
  }
  if (lookup->endpoints.empty()) {
    return absl::UnavailableError(absl::StrCat("looking up the name: ", lookup->message));
  }
  return lookup->endpoints;
}

// A connection. Each operation blocks the calling thread until the operation or its time has ended.
class Connection {
 public:
  explicit Connection(Time deadline) : deadline_(deadline) {}

  tcp::socket& socket() { return socket_; }

  // Starts an asynchronous operation and waits for it. `start` is called with the handler of the
  // operation. Returns timed_out, and closes the socket, if the time ends first.
  template <typename Start>
  error_code complete(const Start& start) {
    return complete_until(deadline_, start);
  }

  // Connects to the first address that accepts. Each address has an equal share of the time that is
  // left, so that an address without any answer leaves time for the next one.
  absl::Status connect(const std::vector<tcp::endpoint>& endpoints) {
    error_code error;
    for (size_t i = 0; i < endpoints.size(); ++i) {
      const auto left = std::max(deadline_ - SteadyClock::now(), SteadyClock::duration::zero());
      const Time share = SteadyClock::now() + left / (endpoints.size() - i);
      socket_ = tcp::socket(context_);
      if (socket_.open(endpoints[i].protocol(), error)) continue;
      ::fcntl(socket_.native_handle(), F_SETFD, FD_CLOEXEC);
      error = complete_until(i + 1 == endpoints.size() ? deadline_ : share, [&](auto done) {
        socket_.async_connect(endpoints[i], std::move(done));
      });
      if (!error) return absl::OkStatus();
    }
    return failed("connecting", error, "; check that a server runs there");
  }

 private:
  template <typename Start>
  error_code complete_until(Time end, const Start& start) {
    std::optional<error_code> result;
    start([&result](error_code error, auto&&...) { result = error; });
    context_.restart();
    context_.run_until(end);
    if (result.has_value()) return *result;
    // Closing cancels the operation, whose handler refers to this call.
    error_code ignored;
    socket_.close(ignored);
    context_.restart();
    context_.run();
    return asio::error::timed_out;
  }

  const Time deadline_;
  asio::io_context context_{1};
  tcp::socket socket_{context_};
};

absl::Status response_error(const error_code& error, size_t most_body_bytes) {
  const auto unavailable = [](auto&&... text) {
    return absl::UnavailableError(absl::StrCat(text...));
  };
  if (error == http::error::end_of_stream) {
    return unavailable("the server closed the connection without a response");
  }
  if (error == http::error::partial_message || error == asio::ssl::error::stream_truncated) {
    return unavailable("the server closed the connection within its response");
  }
  if (error == http::error::body_limit) {
    return unavailable("the response has more than ", most_body_bytes, " bytes");
  }
  if (error == http::error::header_limit) {
    return unavailable("the response is not HTTP/1.1: its header exceeds ", kMostResponseHeadBytes,
                       " bytes");
  }
  if (error.category() == http::make_error_code(http::error::bad_version).category()) {
    return unavailable("the response is not HTTP/1.1: ", error.message());
  }
  return failed("waiting for the response", error);
}

// Sends a request and reads the response.
template <typename Stream>
absl::StatusOr<HttpResponse> exchange(Connection& connection, Stream& stream,
                                      const Request& request, size_t most_body_bytes) {
  // A server may respond, and close the connection, before it has read the whole request.
  const error_code unsent =
      connection.complete([&](auto done) { http::async_write(stream, request, std::move(done)); });
  boost::beast::flat_buffer buffer;
  for (;;) {
    http::response_parser<http::string_body> parser;
    parser.header_limit(kMostResponseHeadBytes);
    parser.body_limit(most_body_bytes);
    parser.skip(request.method() == http::verb::head);
    const error_code error = connection.complete(
        [&](auto done) { http::async_read(stream, buffer, parser, std::move(done)); });
    if (error && unsent) return failed("sending the request", unsent);
    if (error) return response_error(error, most_body_bytes);
    const int status = static_cast<int>(parser.get().result_int());
    if (status < 200) continue;  // an interim response: another one follows
    return HttpResponse{.status = status, .body = std::move(parser.get().body())};
  }
}

constexpr unsigned kProxyAuthenticationRequired = 407;

absl::Status proxy_refusal(const HttpProxy& proxy, unsigned status) {
  return absl::UnavailableError(
      absl::StrCat("the proxy answers with HTTP status ", status,
                   status == kProxyAuthenticationRequired
                       ? absl::StrCat("; give a user name and a password in ", proxy.variable,
                                      " (http://USER:PASSWORD@HOST:PORT)")
                       : ""));
}

// Asks a proxy to forward the connection to the server.
absl::Status open_tunnel(Connection& connection, const HttpProxy& proxy, const HttpUrl& server) {
  const std::string target = host_and_port(server.host, server.port);
  Request request(http::verb::connect, target, 11);
  request.set(http::field::host, target);
  if (!proxy.authorization.empty()) {
    request.set(http::field::proxy_authorization, proxy.authorization);
  }
  error_code error = connection.complete(
      [&](auto done) { http::async_write(connection.socket(), request, std::move(done)); });
  boost::beast::flat_buffer buffer;
  http::response_parser<http::empty_body> parser;
  parser.skip(true);
  if (!error) {
    error = connection.complete([&](auto done) {
      http::async_read_header(connection.socket(), buffer, parser, std::move(done));
    });
  }
  if (error) return failed("waiting for the proxy", error);
  const auto status = parser.get().result_int();
  return status / 100 == 2 ? absl::OkStatus() : proxy_refusal(proxy, status);
}

bool is_address(const std::string& host) {
  error_code error;
  asio::ip::make_address(host, error);
  return !error;
}

// Makes the handshake check that the certificate has the host. Returns false if that failed.
bool expect_host(SSL* ssl, const std::string& host, bool verify) {
  if (is_address(host)) {
    return !verify || X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str()) == 1;
  }
  // The name in the subject of a certificate has no meaning (RFC 9110, 4.3.4).
  SSL_set_hostflags(ssl,
                    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  return SSL_set_tlsext_host_name(ssl, host.c_str()) == 1 &&
         (!verify || SSL_set1_host(ssl, host.c_str()) == 1);
}

// Returns the end of the text of a refused certificate.
std::string advice_on(long refusal, const HttpTrust& trust) {
  switch (refusal) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH: return "; give an address that the certificate has";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      return absl::StrCat(
          "; if the server has an authority of its own, name the file of its "
          "certificate in ",
          trust.ca_setting);
    default: return "";
  }
}

absl::Status handshake_error(const error_code& error, SSL* ssl, const std::string& host,
                             const HttpTrust& trust) {
  const long refusal = SSL_get_verify_result(ssl);
  if (refusal == X509_V_OK || !trust.verify) return failed("the TLS handshake", error);
  return absl::UnavailableError(absl::StrCat(
      "the certificate of ", host, " is refused: ", X509_verify_cert_error_string(refusal),
      advice_on(refusal, trust)));
}

bool is_set(const char* variable) { return std::getenv(variable) != nullptr; }

// Loads the certificates that may sign the certificate of a server.
absl::Status load_trust(SSL_CTX* context, const HttpTrust& trust) {
  if (!trust.ca_path.empty()) {
    struct stat info = {};
    const bool is_folder = ::stat(trust.ca_path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
    const char* const path = trust.ca_path.c_str();
    if (SSL_CTX_load_verify_locations(context, is_folder ? nullptr : path,
                                      is_folder ? path : nullptr) == 1) {
      return absl::OkStatus();
    }
    return absl::FailedPreconditionError(
        absl::StrCat(trust.ca_setting, " is ", trust.ca_path,
                     ", from which no certificate can be read; give a file of certificates (PEM)"));
  }
  SSL_CTX_set_default_verify_paths(context);  // also reads the two variables
  if (is_set("SSL_CERT_FILE") || is_set("SSL_CERT_DIR")) return absl::OkStatus();
  // The OpenSSL of a package has the paths of Debian, and other distributions have other ones.
  for (const char* const bundle : kSystemBundles) {
    if (::access(bundle, R_OK) != 0) continue;
    SSL_CTX_load_verify_locations(context, bundle, nullptr);
    break;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> authorization_of(const HttpCredentials& credentials) {
  std::string value;
  if (!credentials.token.empty()) {
    value = absl::StrCat("Bearer ", credentials.token);
  } else if (!credentials.user.empty()) {
    value = basic_authorization(credentials.user, credentials.password);
  }
  const auto is_control = [](char c) { return absl::ascii_iscntrl(static_cast<unsigned char>(c)); };
  if (std::none_of(value.begin(), value.end(), is_control)) return value;
  return absl::FailedPreconditionError("the token has a line end or another control character");
}

}  // namespace

// Values that all requests of a client share, and the steps of a request.
class HttpClient::Impl {
 public:
  static absl::StatusOr<std::unique_ptr<Impl>> make(HttpUrl server, HttpClientOptions options);

  absl::StatusOr<HttpResponse> send(const HttpRequest& request, absl::Duration limit);
  // Returns the address of the server, and of the proxy if there is one.
  std::string address() const;

 private:
  Impl(HttpUrl server, HttpClientOptions options)
      : server_(std::move(server)), options_(std::move(options)) {}
  // Returns true if the proxy reads the request and forwards it.
  bool proxy_reads() const { return proxy_.has_value() && !server_.tls; }
  Request message_of(const HttpRequest& request) const;
  absl::StatusOr<HttpResponse> exchange_with_tls(Connection& connection, const Request& message);

  const HttpUrl server_;
  const HttpClientOptions options_;
  std::string authorization_;  // "": none
  std::optional<HttpProxy> proxy_;
  std::optional<asio::ssl::context> tls_;  // none for http
};

absl::StatusOr<std::unique_ptr<HttpClient::Impl>> HttpClient::Impl::make(
    HttpUrl server, HttpClientOptions options) {
  std::unique_ptr<Impl> impl(new Impl(std::move(server), std::move(options)));
  ASSIGN_OR_RETURN(impl->authorization_, authorization_of(impl->options_.credentials));
  ASSIGN_OR_RETURN(impl->proxy_, proxy_of_environment(impl->server_));
  if (!impl->server_.tls) return impl;
  impl->tls_.emplace(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* const context = impl->tls_->native_handle();
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  if (!impl->options_.trust.verify) return impl;
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  RETURN_IF_ERROR(load_trust(context, impl->options_.trust));
  return impl;
}

std::string HttpClient::Impl::address() const {
  const std::string server = host_and_port(server_.host, server_.port);
  if (!proxy_.has_value()) return server;
  return absl::StrCat(server, " through the proxy ",
                      host_and_port(proxy_->url.host, proxy_->url.port), " of ", proxy_->variable);
}

Request HttpClient::Impl::message_of(const HttpRequest& request) const {
  const std::string host = host_and_port(server_.host, server_.port);
  Request message;
  message.method_string(request.method);
  message.target(absl::StrCat(proxy_reads() ? absl::StrCat("http://", host) : "", server_.path,
                              request.target));
  message.set(http::field::host, host);
  message.set(http::field::user_agent, "millrace");
  message.set(http::field::connection, "close");
  if (!authorization_.empty()) message.set(http::field::authorization, authorization_);
  if (proxy_reads() && !proxy_->authorization.empty()) {
    message.set(http::field::proxy_authorization, proxy_->authorization);
  }
  for (const auto& [name, value] : request.headers) message.set(name, value);
  if (!request.body.empty()) message.set(http::field::content_type, request.content_type);
  message.body() = request.body;
  message.prepare_payload();
  return message;
}

absl::StatusOr<HttpResponse> HttpClient::Impl::send(const HttpRequest& request,
                                                    absl::Duration limit) {
  const absl::Duration time = std::min({options_.timeout, limit, absl::Hours(24 * 365)});
  const Time deadline = SteadyClock::now() + absl::ToChronoNanoseconds(time);
  const HttpUrl& reached = proxy_.has_value() ? proxy_->url : server_;
  ASSIGN_OR_RETURN(const std::vector<tcp::endpoint> endpoints,
                   resolve(reached.host, reached.port, deadline));
  const Request message = message_of(request);
  Connection connection(deadline);
  RETURN_IF_ERROR(connection.connect(endpoints));
  if (server_.tls) return exchange_with_tls(connection, message);
  ASSIGN_OR_RETURN(HttpResponse response, exchange(connection, connection.socket(), message,
                                                   options_.most_response_bytes));
  if (proxy_.has_value() && response.status == kProxyAuthenticationRequired) {
    return proxy_refusal(*proxy_, kProxyAuthenticationRequired);
  }
  return response;
}

absl::StatusOr<HttpResponse> HttpClient::Impl::exchange_with_tls(Connection& connection,
                                                                 const Request& message) {
  if (proxy_.has_value()) RETURN_IF_ERROR(open_tunnel(connection, *proxy_, server_));
  asio::ssl::stream<tcp::socket&> stream(connection.socket(), *tls_);
  SSL* const ssl = stream.native_handle();
  if (!expect_host(ssl, server_.host, options_.trust.verify)) {
    return absl::UnavailableError("TLS does not allow this host name");
  }
  const error_code error = connection.complete(
      [&](auto done) { stream.async_handshake(asio::ssl::stream_base::client, std::move(done)); });
  if (error) return handshake_error(error, ssl, server_.host, options_.trust);
  return exchange(connection, stream, message, options_.most_response_bytes);
}

HttpClient::HttpClient(const HttpUrl& server, HttpClientOptions options)
    : impl_(catch_exceptions([&] { return Impl::make(server, std::move(options)); })),
      address_(impl_.ok() ? (*impl_)->address() : host_and_port(server.host, server.port)) {}

HttpClient::~HttpClient() = default;

absl::StatusOr<HttpResponse> HttpClient::send(const HttpRequest& request,
                                              absl::Duration limit) const {
  if (!impl_.ok()) return annotate(impl_.status(), address_);
  absl::StatusOr<HttpResponse> response =
      catch_exceptions([&] { return (*impl_)->send(request, limit); });
  return response.ok() ? response : annotate(response.status(), address_);
}

}  // namespace millrace
