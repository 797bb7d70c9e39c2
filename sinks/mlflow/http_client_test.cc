#include "sinks/mlflow/http_client.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_matchers.h"
#include "sinks/mlflow/http_server_testing.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Long enough for a server that answers, on a machine under load.
constexpr absl::Duration kLong = absl::Seconds(30);
constexpr absl::Duration kShort = absl::Milliseconds(100);

absl::StatusOr<HttpResponse> send_to(const TestHttpServer& server, const HttpRequest& request,
                                     absl::Duration timeout = kLong) {
  return HttpClient(server.url(), {.timeout = timeout, .most_response_bytes = 1000}).send(request);
}

// Sends a request to a server with these responses.
absl::StatusOr<HttpResponse> exchange(const TestResponse& response,
                                      absl::Duration timeout = kLong) {
  const TestHttpServer server([&](const TestRequest&) { return response; });
  return send_to(server, {.target = "/"}, timeout);
}

// Sends a request to a port on which no server listens.
absl::Status send_to_nobody() {
  auto server = std::make_unique<TestHttpServer>([](const auto&) { return TestResponse(); });
  const HttpUrl url = server->url();
  server.reset();
  return HttpClient(url, {.timeout = kLong}).send({.target = "/"}).status();
}

TEST(HttpClientTest, SendsWhatTheServerReads) {
  TestRequest seen;
  const TestHttpServer server([&](const TestRequest& request) {
    seen = request;
    return http_response(201, "made");
  });
  HttpUrl url = server.url();
  url.path = "/prefix";
  const HttpClient client(url, {.timeout = kLong});
  const std::string body(3 << 20, 'x');
  ASSERT_OK_AND_ASSIGN(const HttpResponse response, client.send({"POST", "/a?b=c", body}));
  EXPECT_EQ(response.status, 201);
  EXPECT_EQ(response.body, "made");
  EXPECT_EQ(seen.method, "POST");
  EXPECT_EQ(seen.target, "/prefix/a?b=c");
  EXPECT_EQ(seen.body, body);
  EXPECT_THAT(seen.head, AllOf(HasSubstr(absl::StrCat("Host: 127.0.0.1:", url.port)),
                               HasSubstr("Content-Type: application/json")));
}

TEST(HttpClientTest, ANameIsLookedUp) {
  const TestHttpServer server([](const auto&) { return http_response(200, "{}"); });
  HttpUrl url = server.url();
  url.host = "localhost";
  EXPECT_OK(HttpClient(url, {.timeout = kLong}).send({.target = "/"}).status());
}

TEST(HttpClientTest, AServerThatIsNotThere) {
  EXPECT_THAT(send_to_nobody(),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("127.0.0.1:"), HasSubstr("connecting: "))));
  const HttpUrl unknown = {.host = "no-such-host.invalid", .port = 80, .path = ""};
  // A resolver that cannot be reached may take longer than the request.
  EXPECT_THAT(HttpClient(unknown, {.timeout = kLong}).send({.target = "/"}).status().message(),
              HasSubstr("no-such-host.invalid:80: looking up the name"));
}

TEST(HttpClientTest, AServerThatHangs) {
  const std::string half = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf";
  for (const std::string bytes : {"", "HTTP/1.1 200", half.c_str()}) {
    const absl::Duration begin = Clock::real().elapsed();
    EXPECT_THAT(exchange({bytes, /*hangs=*/true}, kShort).status(),
                StatusIs(absl::StatusCode::kDeadlineExceeded,
                         HasSubstr("waiting for the response: no time is left")));
    EXPECT_GE(Clock::real().elapsed() - begin, kShort);
  }
}

TEST(HttpClientTest, TheShorterLimitHolds) {
  const TestHttpServer server([](const auto&) { return TestResponse{"", /*hangs=*/true}; });
  const HttpClient client(server.url(), {.timeout = absl::Hours(1)});
  EXPECT_THAT(client.send({.target = "/"}, kShort).status(),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST(HttpClientTest, AServerThatClosesEarly) {
  const auto expect = [](const std::string& bytes) {
    EXPECT_THAT(exchange({bytes}).status(),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("closed the connection")));
  };
  expect("");
  expect("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
}

TEST(HttpClientTest, AServerOfAnotherProtocol) {
  EXPECT_THAT(exchange({"SSH-2.0-OpenSSH_9.2\r\n", /*hangs=*/true}).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("not HTTP/1.1")));
}

TEST(HttpClientTest, ResponsesAreBounded) {
  EXPECT_THAT(exchange(http_response(200, std::string(1001, 'x'))).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("more than 1000 bytes")));
  const std::string huge(1 << 20, 'x');
  EXPECT_THAT(exchange({absl::StrCat("HTTP/1.1 200 OK\r\nX: ", huge)}).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("header exceeds")));
}

TEST(HttpClientTest, ARedirectionIsAResponse) {
  ASSERT_OK_AND_ASSIGN(const HttpResponse response,
                       exchange({"HTTP/1.1 302 Found\r\nLocation: /login\r\n\r\n"}));
  EXPECT_EQ(response.status, 302);
}

}  // namespace
}  // namespace millrace
