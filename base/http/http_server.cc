#include "base/http/http_server.h"

#include <fcntl.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <chrono>
#include <deque>
#include <optional>
#include <thread>
#include <type_traits>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/http/http_url.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/signals/signals.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr size_t kMostRequestHeadBytes = 8192;
constexpr std::chrono::milliseconds kAcceptPause{100};  // after an error

std::string text_of(boost::beast::string_view text) { return {text.data(), text.size()}; }

HttpServerRequest request_of(http::request<http::string_body> message) {
  HttpServerRequest request{.method = text_of(message.method_string()),
                            .target = text_of(message.target()),
                            .body = std::move(message.body()),
                            .headers = {}};
  for (const auto& field : message) {
    request.headers.emplace_back(text_of(field.name_string()), text_of(field.value()));
  }
  return request;
}

// Returns the reply to a request that was not read; none if the connection failed.
std::optional<HttpReply> reply_to_failure(const error_code& error) {
  if (error == http::error::header_limit) return http_error_reply(431);
  if (error == http::error::body_limit) return http_error_reply(413);
  const bool is_http =
      error.category() == http::make_error_code(http::error::bad_version).category();
  if (!is_http || error == http::error::end_of_stream || error == http::error::partial_message) {
    return std::nullopt;
  }
  return http_error_reply(400);
}

// A connection. Its handlers and the server share it; the thread of the server alone uses it.
class Session {
 public:
  virtual ~Session() = default;
  // Closes the connection, which cancels pending operations.
  virtual void close() = 0;
};

// Settings and functions of the server that all sessions use.
struct SessionHost {
  absl::Duration client_timeout;
  size_t most_body_bytes;
  bool keep_alive;
  HttpServer::Handler handler;
  std::function<bool(const HttpServerRequest&)> handled_at_once;
  asio::thread_pool* pool;  // null: the thread of the server
  // Used by the thread of the server alone.
  int64_t open_requests = 0;  // that were read and have no reply yet
  bool draining = false;      // if true, a connection is closed after its reply
  std::function<void()> drained;
  void check_drained() const {
    if (draining && open_requests == 0) drained();
  }
  // Removes a session that has ended.
  std::function<void(const Session*)> remove;
};

// Stream: tcp::socket or asio::ssl::stream<tcp::socket>.
template <typename Stream>
class StreamSession : public Session, public std::enable_shared_from_this<StreamSession<Stream>> {
 public:
  StreamSession(Stream stream, SessionHost& host)
      : stream_(std::move(stream)), timer_(stream_.get_executor()), host_(host) {}

  void start() {
    set_deadline();
    if constexpr (kTls) {
      stream_.async_handshake(asio::ssl::stream_base::server,
                              [self = this->shared_from_this()](error_code error) {
                                error ? self->end() : self->read();
                              });
    } else {
      read();
    }
  }

  void close() override {
    error_code ignored;
    timer_.cancel(ignored);
    socket().close(ignored);
  }

 private:
  static constexpr bool kTls = !std::is_same_v<Stream, tcp::socket>;

  tcp::socket& socket() { return boost::beast::get_lowest_layer(stream_); }

  // Closes the connection and removes the session. May be called by handlers of the session.
  void end() {
    close();
    end_reply();
    host_.remove(this);
  }

  void begin_reply() {
    replying_ = true;
    ++host_.open_requests;
  }
  void end_reply() {
    if (!replying_) return;
    replying_ = false;
    --host_.open_requests;
    host_.check_drained();
  }

  void set_deadline() {
    if (host_.client_timeout == absl::InfiniteDuration()) return;
    timer_.expires_after(absl::ToChronoNanoseconds(host_.client_timeout));
    timer_.async_wait([self = this->shared_from_this()](error_code error) {
      if (!error) self->end();
    });
  }

  void read() {
    parser_.emplace();
    parser_->header_limit(kMostRequestHeadBytes);
    parser_->body_limit(host_.most_body_bytes);
    http::async_read(
        stream_, buffer_, *parser_,
        [self = this->shared_from_this()](error_code error, size_t) { self->answer(error); });
  }

  // Replies to the request that was read, or to the failure of reading it.
  void answer(const error_code& error) {
    if (error) {
      std::optional<HttpReply> reply = reply_to_failure(error);
      if (!reply.has_value()) return end();
      begin_reply();
      return write(*std::move(reply), /*head=*/false, /*keep_open=*/false);
    }
    begin_reply();
    const bool head = parser_->get().method() == http::verb::head;
    const bool keep_open = host_.keep_alive && parser_->get().keep_alive();
    HttpServerRequest request = request_of(parser_->release());
    request.at_once = host_.handled_at_once && host_.handled_at_once(request);
    if (host_.pool == nullptr || request.at_once) {
      return write(handle(request), head, keep_open);
    }
    error_code ignored;
    timer_.cancel(ignored);  // the client is not slow
    asio::post(*host_.pool,
               [self = this->shared_from_this(), request = std::move(request), head, keep_open] {
                 HttpReply reply = self->handle(request);
                 asio::post(self->stream_.get_executor(),
                            [self, reply = std::move(reply), head, keep_open]() mutable {
                              self->set_deadline();
                              self->write(std::move(reply), head, keep_open);
                            });
               });
  }

  HttpReply handle(const HttpServerRequest& request) const {
    absl::StatusOr<HttpReply> handled =
        catch_exceptions([&]() -> absl::StatusOr<HttpReply> { return host_.handler(request); });
    return handled.ok() ? *std::move(handled) : http_error_reply(500);
  }

  void write(HttpReply reply, bool head, bool keep_open) {
    keep_open &= !host_.draining;
    response_ = {};
    response_.result(static_cast<unsigned>(reply.status));
    response_.set(http::field::content_type, reply.content_type);
    for (const auto& [field, value] : reply.headers) response_.set(field, value);
    response_.content_length(reply.body.size());
    response_.keep_alive(keep_open);
    if (!head) response_.body() = std::move(reply.body);
    http::async_write(stream_, response_,
                      [self = this->shared_from_this(), keep_open](error_code unsent, size_t) {
                        if (unsent) return self->end();
                        self->end_reply();
                        if (!keep_open) return self->finish();
                        self->set_deadline();
                        self->read();
                      });
  }

  // Tells the client that no more bytes come, and discards further input until the client closes:
  // closing with unread bytes would reset the connection, and the client would lose the reply.
  void finish() {
    if constexpr (kTls) {
      stream_.async_shutdown([self = this->shared_from_this()](error_code) { self->end(); });
    } else {
      error_code ignored;
      stream_.shutdown(tcp::socket::shutdown_send, ignored);
      discard();
    }
  }

  void discard() {
    stream_.async_read_some(asio::buffer(rest_),
                            [self = this->shared_from_this()](error_code error, size_t) {
                              error ? self->end() : self->discard();
                            });
  }

  Stream stream_;
  asio::steady_timer timer_;
  SessionHost& host_;
  boost::beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  http::response<http::string_body> response_;
  char rest_[1024];        // discarded bytes
  bool replying_ = false;  // between a request and its reply
};

absl::Status unavailable(const HttpServerOptions& options, const error_code& error) {
  return absl::UnavailableError(absl::StrCat(
      "listening on ", host_and_port(options.address, options.port), ": ", error.message(),
      error == asio::error::address_in_use  ? "; choose another port, or 0 for any free one"
      : error == asio::error::access_denied ? "; choose a port from 1024 on"
      : error.value() == EADDRNOTAVAIL      ? "; give an address of this machine"
                                            : ""));
}

absl::StatusOr<asio::ip::address> address_of(const HttpServerOptions& options) {
  error_code error;
  const asio::ip::address address = asio::ip::make_address(options.address, error);
  if (error) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", options.address, "\" is no IP address; give one such as 127.0.0.1 or ::1"));
  }
  if (options.port < 0 || options.port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("port is ", options.port, "; it must be from 0 to 65535"));
  }
  return address;
}

}  // namespace

absl::string_view HttpServerRequest::header(absl::string_view name) const {
  for (const auto& [field, value] : headers) {
    if (absl::EqualsIgnoreCase(field, name)) return value;
  }
  return "";
}

HttpReply http_error_reply(int status) {
  const auto reason = http::obsolete_reason(static_cast<http::status>(status));
  return {.status = status, .body = absl::StrCat(status, " ", text_of(reason), "\n")};
}

class HttpServer::Impl {
 public:
  Impl(const HttpServerOptions& options, Handler handler)
      : host_{.client_timeout = options.client_timeout,
              .most_body_bytes = options.most_body_bytes,
              .keep_alive = options.keep_alive,
              .handler = std::move(handler),
              .handled_at_once = options.handled_at_once,
              .pool = nullptr,
              .drained =
                  [this] {
                    MutexLock lock(mutex_);
                    is_drained_ = true;
                  },
              .remove = [this](const Session* session) { remove(session); }} {}
  ~Impl() {
    context_.stop();
    if (thread_.joinable()) thread_.join();  // posts no more to the pool
  }

  absl::Status start(const HttpServerOptions& options) {
    most_connections_ = options.most_connections;
    if (options.handler_threads > 0) host_.pool = &pool_.emplace(options.handler_threads);
    RETURN_IF_ERROR(use_certificate(options));
    RETURN_IF_ERROR(listen(options));
    accept();
    thread_ = std::thread([this] {
      block_signals();
      for (;;) {
        const absl::Status status = catch_exceptions([this] {
          context_.run();
          return absl::OkStatus();
        });
        if (status.ok()) return;
        MILLRACE_LOG(WARNING) << "the HTTP server on port " << port_
                              << " lost a connection: " << status;
      }
    });
    return absl::OkStatus();
  }

  int port() const { return port_; }

  void drain(absl::Duration limit) {
    asio::post(context_, [this] {
      error_code ignored;
      acceptor_.close(ignored);
      host_.draining = true;
      host_.check_drained();
    });
    MutexLock lock(mutex_);
    mutex_.await_for(limit, [this] { return is_drained_; });
  }

 private:
  absl::Status use_certificate(const HttpServerOptions& options) {
    if (options.certificate.empty()) return absl::OkStatus();
    tls_.emplace(SSL_CTX_new(TLS_server_method()));
    error_code error;
    tls_->use_certificate_chain(asio::buffer(options.certificate), error);
    if (!error) {
      tls_->use_private_key(asio::buffer(options.key), asio::ssl::context::pem, error);
    }
    if (!error) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("the certificate or its key cannot be used: ", error.message()));
  }

  absl::Status listen(const HttpServerOptions& options) {
    ASSIGN_OR_RETURN(const asio::ip::address address, address_of(options));
    const tcp::endpoint endpoint(address, static_cast<uint16_t>(options.port));
    error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (error) return unavailable(options, error);
    close_on_exec(acceptor_.native_handle());
    // A restarted job listens again at once, although connections of the old process linger.
    acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (address.is_v6()) acceptor_.set_option(asio::ip::v6_only(false), error);
    acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    // The system chose the port for port 0.
    if (!error) port_ = acceptor_.local_endpoint(error).port();
    return error ? unavailable(options, error) : absl::OkStatus();
  }

  static void close_on_exec(int descriptor) { ::fcntl(descriptor, F_SETFD, FD_CLOEXEC); }

  void accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (host_.draining) return;
      if (error) return accept_later();  // likely no descriptor is free
      accept();                          // first, since the rest may throw
      close_on_exec(socket.native_handle());
      if (sessions_.size() == most_connections_) {
        sessions_.front()->close();
        sessions_.pop_front();
      }
      if (tls_.has_value()) {
        add(asio::ssl::stream<tcp::socket>(std::move(socket), *tls_));
      } else {
        add(std::move(socket));
      }
    });
  }

  void accept_later() {
    pause_.expires_after(kAcceptPause);
    pause_.async_wait([this](error_code error) {
      if (!error) accept();
    });
  }

  template <typename Stream>
  void add(Stream stream) {
    auto session = std::make_shared<StreamSession<Stream>>(std::move(stream), host_);
    sessions_.push_back(session);
    session->start();
  }

  void remove(const Session* session) {
    std::erase_if(sessions_, [=](const auto& other) { return other.get() == session; });
  }

  SessionHost host_;
  size_t most_connections_ = 0;
  Mutex mutex_;
  bool is_drained_ ABSL_GUARDED_BY(mutex_) = false;
  int port_ = 0;
  std::optional<asio::ssl::context> tls_;
  asio::io_context context_{1};
  // A handler of the pool may be all that is left after drain(); its reply is still to be sent.
  asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
  tcp::acceptor acceptor_{context_};
  asio::steady_timer pause_{context_};
  // Used by the thread alone, the oldest first. Each session is also owned by its pending
  // operations.
  std::deque<std::shared_ptr<Session>> sessions_;
  std::thread thread_;
  // Last, since its threads use the others: its destructor waits for them.
  std::optional<asio::thread_pool> pool_;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpServer::~HttpServer() = default;

int HttpServer::port() const { return impl_->port(); }

void HttpServer::drain(absl::Duration limit) { impl_->drain(limit); }

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::start(HttpServerOptions options,
                                                              Handler handler) {
  return catch_exceptions([&]() -> absl::StatusOr<std::unique_ptr<HttpServer>> {
    auto impl = std::make_unique<Impl>(options, std::move(handler));
    RETURN_IF_ERROR(impl->start(options));
    return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
  });
}

}  // namespace millrace
