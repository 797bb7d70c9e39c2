#include "base/net/http_url.h"

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

TEST(HttpUrlTest, Parts) {
  const auto expect = [](const char* url, const char* host, int port, const char* path) {
    ASSERT_OK_AND_ASSIGN(const HttpUrl parsed, parse_http_url(url));
    EXPECT_EQ(parsed.host, host) << url;
    EXPECT_EQ(parsed.port, port) << url;
    EXPECT_EQ(parsed.path, path) << url;
  };
  expect("http://tracker", "tracker", 80, "");
  expect("http://127.0.0.1:5000", "127.0.0.1", 5000, "");
  expect("http://127.0.0.1:5000/", "127.0.0.1", 5000, "");
  expect("http://my-host.example_x:1/a/b//", "my-host.example_x", 1, "/a/b");
}

TEST(HttpUrlTest, Mistakes) {
  const auto expect = [](const char* url, const char* what) {
    EXPECT_THAT(parse_http_url(url).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
  };
  expect("", "is \"\"; it must have the form http://HOST:PORT");
  expect("127.0.0.1:5000", "it must have the form");
  expect("file:///tmp/runs", "it must have the form");
  expect("https://tracker", "run a proxy on this machine");
  expect("HTTPS://tracker", "https is not supported");
  expect("http://", "HOST is a name or an IPv4 address");
  expect("http://:80", "HOST is a name or an IPv4 address");
  expect("http://[::1]:80", "the port must be a number");
  expect("http://a b", "HOST is a name");
  expect("http://user:secret@host", "has a user name or a password");
  expect("http://host:", "the port must be a number from 1 to 65535");
  expect("http://host:0", "the port must be a number");
  expect("http://host:65536", "the port must be a number");
  expect("http://host:5000x", "the port must be a number");
  expect("http://host/a?b", "the path has");
  expect("http://host/a b", "the path has");
  expect("http://host/a\r\nX: 1", "the path has");
}

}  // namespace
}  // namespace millrace
