#include "base/http/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/http/certificate_testing.h"
#include "base/http/http_server.h"
#include "base/status_matchers.h"
#include "tests/environment/scoped_variable.h"
#include "tests/environment/skip.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Long enough for a server that answers, on a machine under load.
constexpr absl::Duration kLong = absl::Seconds(30);
constexpr absl::Duration kShort = absl::Milliseconds(300);
constexpr size_t kMostBytes = 1000;

sockaddr_in loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

bool send_bytes(int socket, const std::string& bytes) {
  return ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

// Moves the bytes that have arrived. Returns false at the end of the connection.
bool forward(int from, int to) {
  char buffer[16384];
  const ssize_t count = ::recv(from, buffer, sizeof(buffer), 0);
  return count > 0 && ::send(to, buffer, static_cast<size_t>(count), MSG_NOSIGNAL) == count;
}

// A server that may break every rule. Its thread serves one connection after the other.
class RawServer {
 public:
  // Sends what it wants to a client whose header has arrived. The connection is closed afterwards.
  using Serve = std::function<void(int client, const std::string& head)>;

  explicit RawServer(Serve serve)
      : serve_(std::move(serve)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof(address);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_, generic, size), 0);
    EXPECT_EQ(::listen(listener_, 16), 0);
    EXPECT_EQ(::getsockname(listener_, generic, &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  ~RawServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }

  HttpUrl url() const { return {.host = "127.0.0.1", .port = port_}; }

 private:
  void run() {
    for (int client; (client = ::accept(listener_, nullptr, nullptr)) >= 0; ::close(client)) {
      std::string head;
      char byte = 0;
      while (head.find("\r\n\r\n") == head.npos && ::recv(client, &byte, 1, 0) == 1) {
        head.push_back(byte);
      }
      serve_(client, head);
    }
  }

  const Serve serve_;
  const int listener_;
  int port_ = 0;
  std::thread thread_;
};

// Keeps a connection open until the client closes it.
void hang(int client) {
  char byte = 0;
  while (::recv(client, &byte, 1, 0) == 1) {
  }
}

// Proxies of this machine have no effect on the tests.
[[maybe_unused]] const bool kNoProxies = [] {
  for (const char* name : {"http_proxy", "https_proxy", "no_proxy"}) {
    ::unsetenv(name);
    ::unsetenv(absl::AsciiStrToUpper(name).c_str());
  }
  return true;
}();

absl::StatusOr<HttpResponse> get(const HttpUrl& url, HttpClientOptions options = {}) {
  options.timeout = kLong;
  options.most_response_bytes = kMostBytes;
  return HttpClient(url, options).send({.target = "/"});
}

// Sends a request to a server that sends these bytes and closes the connection.
absl::StatusOr<HttpResponse> response_to(const std::string& bytes) {
  return get(RawServer([&](int client, const auto&) { send_bytes(client, bytes); }).url());
}

// A server that responds to each request with its header field Authorization.
std::unique_ptr<HttpServer> start_server(HttpServerOptions options = {}) {
  options.client_timeout = kLong;
  auto server = HttpServer::start(options, [](const HttpServerRequest& request) {
    return HttpReply{.status = 200, .body = std::string(request.header("authorization"))};
  });
  EXPECT_TRUE(server.ok() || absl::IsUnavailable(server.status())) << server.status();
  return server.ok() ? *std::move(server) : nullptr;
}

TEST(HttpClientTest, SendsWhatTheServerReads) {
  HttpServerRequest seen;
  ASSERT_OK_AND_ASSIGN(const auto server,
                       HttpServer::start({.client_timeout = kLong, .most_body_bytes = 4 << 20},
                                         [&](const HttpServerRequest& request) {
                                           seen = request;
                                           return HttpReply{.status = 201, .body = "made"};
                                         }));
  const HttpClient client({.host = "localhost", .port = server->port(), .path = "/prefix"},
                          {.timeout = kLong});
  const std::string body(3 << 20, 'x');
  ASSERT_OK_AND_ASSIGN(
      const HttpResponse response,
      client.send({"POST", "/a?b=c", body, "application/json", {{"Accept", "text/html"}}}));
  EXPECT_EQ(response.status, 201);
  EXPECT_EQ(response.body, "made");
  EXPECT_EQ(seen.method, "POST");
  EXPECT_EQ(seen.target, "/prefix/a?b=c");
  EXPECT_EQ(seen.body, body);
  EXPECT_EQ(seen.header("host"), absl::StrCat("localhost:", server->port()));
  EXPECT_EQ(seen.header("Content-Type"), "application/json");
  EXPECT_EQ(seen.header("Accept"), "text/html");
  EXPECT_EQ(seen.header("Authorization"), "");
}

TEST(HttpClientTest, Responses) {
  const auto expect = [](const std::string& bytes, int status, const std::string& body) {
    ASSERT_OK_AND_ASSIGN(const HttpResponse response, response_to(bytes));
    EXPECT_EQ(response.status, status) << bytes;
    EXPECT_EQ(response.body, body) << bytes;
  };
  expect("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", 200, "{}");
  expect("HTTP/1.1 200 OK\r\ncontent-length:2\r\n\r\n{}rest", 200, "{}");
  expect("HTTP/1.0 404 NOT FOUND\r\n\r\nnone", 404, "none");
  expect("HTTP/1.1 204 No Content\r\n\r\n", 204, "");
  expect("HTTP/1.1 302 Found\r\nLocation: /login\r\n\r\n", 302, "");
  expect("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\na", 200, "a");
  expect(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n"
      "3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n",
      200, "abc0123456789");
}

TEST(HttpClientTest, BrokenResponses) {
  const auto expect = [](const std::string& bytes, const std::string& what) {
    EXPECT_THAT(
        response_to(bytes).status(),
        StatusIs(absl::StatusCode::kUnavailable, AllOf(HasSubstr("127.0.0.1:"), HasSubstr(what))))
        << bytes.substr(0, 100);
  };
  const std::string ok = "HTTP/1.1 200 OK\r\n", chunked = ok + "Transfer-Encoding: chunked\r\n\r\n";
  expect("", "closed the connection without a response");
  expect(ok + "Content-Le", "closed the connection within its response");
  expect(ok + "Content-Length: 3\r\n\r\n{}", "within its response");
  expect(chunked + "3\r\nab", "within its response");
  expect(chunked + "0\r\n", "within its response");
  for (const char* broken :
       {"SSH-2.0-OpenSSH_9.2\r\n", "HTTP/2 200\r\n\r\n", "HTTP/1.1 abc\r\n\r\n"}) {
    expect(broken, "the response is not HTTP/1.1");
  }
  for (const std::string& broken : {ok + "no field\r\n\r\n", ok + "Content-Length: -1\r\n\r\n",
                                    ok + "Content-Length: 99999999999999999999999\r\n\r\n",
                                    ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
                                    chunked + "x\r\n", chunked + "1\r\nabc\r\n"}) {
    expect(broken, "the response is not HTTP/1.1");
  }
  expect(ok + "\r\n" + std::string(kMostBytes + 1, 'x'), "more than 1000 bytes");
  expect(ok + "Content-Length: 1001\r\n\r\n", "more than 1000 bytes");
  expect(ok + "Content-Length: 18446744073709551615\r\n\r\n", "more than 1000 bytes");
  expect(chunked + "3E9\r\n" + std::string(kMostBytes + 1, 'x'), "more than 1000 bytes");
  expect(ok + "X: " + std::string(1 << 17, 'x'), "its header exceeds 65536 bytes");
}

TEST(HttpClientTest, TheDeadlineIsThatOfTheWholeRequest) {
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n";
  const std::vector<RawServer::Serve> servers = {
      [](int client, const auto&) { hang(client); },
      [&](int client, const auto&) { send_bytes(client, head + "half"), hang(client); },
      // A byte at a time, without an end.
      [](int client, const auto&) {
        for (std::string bytes = "HTTP/1.1 200 OK\r\n\r\n";
             send_bytes(client, bytes.substr(0, 1));) {
          if (bytes.size() > 1) bytes.erase(0, 1);
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
      }};
  for (const RawServer::Serve& serve : servers) {
    const RawServer server(serve);
    const HttpClient client(server.url(), {.timeout = absl::Hours(1)});
    const absl::Duration begin = Clock::real().elapsed();
    EXPECT_THAT(client.send({.target = "/"}, kShort).status(),
                StatusIs(absl::StatusCode::kDeadlineExceeded,
                         HasSubstr("waiting for the response: no time is left")));
    EXPECT_GE(Clock::real().elapsed() - begin, kShort);
    EXPECT_LT(Clock::real().elapsed() - begin, absl::Seconds(20));
  }
}

TEST(HttpClientTest, AServerThatIsNotThere) {
  const HttpUrl free = RawServer([](int, const auto&) {}).url();
  EXPECT_THAT(get(free).status(), StatusIs(absl::StatusCode::kUnavailable,
                                           AllOf(HasSubstr("127.0.0.1:"), HasSubstr("connecting: "),
                                                 HasSubstr("; check that a server runs there"))));
  // A resolver that cannot be reached may take longer than the request.
  EXPECT_THAT(get({.host = "no-such-host.invalid"}).status().message(),
              HasSubstr("no-such-host.invalid:80: looking up the name"));
}

TEST(HttpClientTest, ReachesAnAddressOfVersion6) {
  const auto server = start_server({.address = "::1"});
  if (server == nullptr) GTEST_SKIP() << skip_kernel_feature("IPv6", "no address ::1");
  ASSERT_OK_AND_ASSIGN(const HttpUrl url,
                       parse_http_url(absl::StrCat("http://[::1]:", server->port())));
  EXPECT_OK(get(url).status());
}

TEST(HttpClientTest, SendsCredentials) {
  const auto server = start_server();
  const auto sent = [&](const HttpCredentials& credentials) {
    const auto response =
        get({.host = "127.0.0.1", .port = server->port()}, {.credentials = credentials});
    return response.ok() ? response->body : response.status().ToString();
  };
  EXPECT_EQ(sent({.token = "abc"}), "Bearer abc");
  EXPECT_EQ(sent({.user = "Aladdin", .password = "open sesame"}),
            "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");  // RFC 7617
  EXPECT_THAT(sent({.token = "a\r\nX: 1"}), HasSubstr("the token has a line end"));
}

class HttpTlsTest : public testing::Test {
 protected:
  // Writes a file that clients can name as `ca_path`.
  static std::string write(const std::string& name, const std::string& text) {
    const std::string path = testing::TempDir() + name;
    std::ofstream(path) << text;
    return path;
  }
  HttpUrl url(const std::string& host) const {
    return {.host = host, .port = server_->port(), .tls = true};
  }

  const TestCertificate own_ = make_test_certificate("DNS:localhost,DNS:tracker.test,IP:127.0.0.1");
  const std::string trusted_ = write("own.pem", own_.certificate);
  const std::unique_ptr<HttpServer> server_ =
      start_server({.address = "0.0.0.0", .certificate = own_.certificate, .key = own_.key});
};

TEST_F(HttpTlsTest, VerifiesTheCertificateAndTheHost) {
  const auto expect_refused = [](const absl::StatusOr<HttpResponse>& response, const char* what) {
    EXPECT_THAT(response.status(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr(what)));
  };
  const HttpTrust good = {.ca_path = trusted_};
  EXPECT_OK(get(url("localhost"), {.trust = good}).status());
  EXPECT_OK(get(url("127.0.0.1"), {.trust = good}).status());
  const HttpTrust other = {.ca_path = write("other.pem", make_test_certificate().certificate),
                           .ca_setting = "THE_SETTING"};
  expect_refused(get(url("localhost"), {.trust = other}),
                 "the certificate of localhost is refused: self-signed certificate; if the server "
                 "has an authority of its own, name the file of its certificate in THE_SETTING");
  expect_refused(get(url("localhost")), "in SSL_CERT_FILE");
  expect_refused(get(url("127.0.0.2"), {.trust = good}),
                 "the certificate of 127.0.0.2 is refused: IP address mismatch; give an address");
  EXPECT_OK(get(url("127.0.0.2"), {.trust = {.verify = false}}).status());
  EXPECT_THAT(get(url("localhost"), {.trust = {.ca_path = "/none"}}).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("SSL_CERT_FILE is /none")));
  {
    const ScopedVariable file("SSL_CERT_FILE", trusted_);
    EXPECT_OK(get(url("localhost")).status());
  }
  const RawServer plain([](int client, const auto&) { hang(client); });
  HttpUrl other_protocol = plain.url();
  other_protocol.tls = true;
  EXPECT_THAT(
      HttpClient(other_protocol, {}).send({.target = "/"}, kShort).status(),
      StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("the TLS handshake: no time")));
  const auto without_tls = start_server();
  other_protocol.port = without_tls->port();
  expect_refused(get(other_protocol), "the TLS handshake: wrong version number");
}

TEST_F(HttpTlsTest, AProxyForwardsTheConnection) {
  std::string head;
  bool permits = true;
  const RawServer proxy([&](int client, const std::string& request) {
    head = request;
    if (!permits) {
      send_bytes(client, "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
      return;
    }
    send_bytes(client, "HTTP/1.1 200 Connection established\r\n\r\n");
    const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(server_->port());
    EXPECT_EQ(::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    for (bool open = true; open;) {
      pollfd polled[] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
      ::poll(polled, 2, -1);
      if (polled[0].revents != 0) open = forward(client, server);
      if (open && polled[1].revents != 0) open = forward(server, client);
    }
    ::close(server);
  });
  const ScopedVariable variable("https_proxy",
                                absl::StrCat("http://us%40r:pass@127.0.0.1:", proxy.url().port));
  const HttpClientOptions options = {.credentials = {.token = "abc"},
                                     .trust = {.ca_path = trusted_}};
  ASSERT_OK_AND_ASSIGN(const HttpResponse response, get(url("tracker.test"), options));
  EXPECT_EQ(response.body, "Bearer abc");
  EXPECT_THAT(
      head, AllOf(HasSubstr(absl::StrCat("CONNECT tracker.test:", server_->port(), " ")),
                  HasSubstr("Proxy-Authorization: Basic dXNAcjpwYXNz\r\n"), Not(HasSubstr("abc"))));
  EXPECT_THAT(get(url("other.test"), options).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("the certificate of other.test is refused: hostname mismatch")));
  permits = false;
  EXPECT_THAT(get(url("tracker.test"), options).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("through the proxy 127.0.0.1:"),
                             HasSubstr("HTTP status 407; give a user name and a password in "
                                       "https_proxy"))));
}

TEST(HttpProxyTest, ForwardsRequests) {
  HttpServerRequest seen;
  int status = 200;
  ASSERT_OK_AND_ASSIGN(const auto proxy,
                       HttpServer::start({.client_timeout = kLong}, [&](const auto& request) {
                         seen = request;
                         return HttpReply{.status = status, .body = "proxy"};
                       }));
  const ScopedVariable variable("HTTP_PROXY", absl::StrCat("user:pass@127.0.0.1:", proxy->port()));
  const HttpUrl server = {.host = "tracker.invalid", .port = 5000, .path = "/a"};
  ASSERT_OK_AND_ASSIGN(const HttpResponse response, get(server));
  EXPECT_EQ(response.body, "proxy");
  EXPECT_EQ(seen.target, "http://tracker.invalid:5000/a/");
  EXPECT_EQ(seen.header("Proxy-Authorization"), "Basic dXNlcjpwYXNz");
  const HttpUrl local = {.host = "127.0.0.1", .port = proxy->port()};
  EXPECT_OK(get(local).status());
  EXPECT_EQ(seen.target, "/") << "this machine is reached directly";
  for (const char* bypass : {"*", "a.b, invalid", ".invalid:5000", "TRACKER.invalid"}) {
    const ScopedVariable no_proxy("no_proxy", bypass);
    EXPECT_THAT(get(server).status().message(), HasSubstr("5000: looking up the name")) << bypass;
  }
  for (const char* other : {"tracker.invalid:80", "acker.invalid", ""}) {
    const ScopedVariable no_proxy("no_proxy", other);
    EXPECT_OK(get(server).status()) << other;
  }
  status = 407;
  EXPECT_THAT(
      get(server).status(),
      StatusIs(absl::StatusCode::kUnavailable,
               HasSubstr("HTTP status 407; give a user name and a password in HTTP_PROXY")));
  const ScopedVariable wrong("http_proxy", "socks5://user:secret@127.0.0.1");
  EXPECT_THAT(get(server).status(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                             AllOf(HasSubstr("variable http_proxy names no proxy"),
                                                   Not(HasSubstr("secret")))));
}

}  // namespace
}  // namespace millrace
