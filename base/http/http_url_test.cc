#include "base/http/http_url.h"

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(HttpUrlTest, Parts) {
  const auto expect = [](const char* url, const char* host, int port, const char* path,
                         bool tls = false) {
    ASSERT_OK_AND_ASSIGN(const HttpUrl parsed, parse_http_url(url));
    EXPECT_EQ(parsed.host, host) << url;
    EXPECT_EQ(parsed.port, port) << url;
    EXPECT_EQ(parsed.path, path) << url;
    EXPECT_EQ(parsed.tls, tls) << url;
  };
  expect("http://tracker", "tracker", 80, "");
  expect("http://127.0.0.1:5000", "127.0.0.1", 5000, "");
  expect("http://127.0.0.1:5000/", "127.0.0.1", 5000, "");
  expect("http://my-host.example_x:1/a/b//", "my-host.example_x", 1, "/a/b");
  expect("https://tracker", "tracker", 443, "", true);
  expect("HTTPS://tracker:8443/a", "tracker", 8443, "/a", true);
  expect("http://[::1]", "::1", 80, "");
  expect("https://[fe80::1:2]:5000/", "fe80::1:2", 5000, "", true);
}

TEST(HttpUrlTest, Mistakes) {
  const auto expect = [](const char* url, const char* what) {
    EXPECT_THAT(parse_http_url(url).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
  };
  expect("", "is \"\"; it must have the form http://HOST:PORT");
  expect("127.0.0.1:5000", "it must have the form");
  expect("file:///tmp/runs", "it must have the form");
  expect("https:/tracker", "it must have the form");
  expect("http://", "HOST is a name, an IPv4 address or, in brackets, an IPv6 address");
  expect("http://:80", "HOST is a name");
  expect("http://::1", "the port must be a number");
  expect("http://[::1", "the port must be a number");
  expect("http://[::1]x", "HOST is a name");
  expect("http://[127.0.0.1]", "HOST is a name");
  expect("http://[::1]:", "the port must be a number");
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

TEST(HttpUrlTest, ThisMachine) {
  for (const char* host : {"localhost", "LOCALHOST", "127.0.0.1", "127.1.2.3", "::1"}) {
    EXPECT_TRUE(is_this_machine(host)) << host;
  }
  for (const char* host : {"127.example.org", "128.0.0.1", "::2", "tracker"}) {
    EXPECT_FALSE(is_this_machine(host)) << host;
  }
}

TEST(HttpUrlTest, AnErrorShowsNoPassword) {
  for (const char* url : {"ann:secret@host:5000", "ftp://ann:secret@host", "http://ann:secret@host",
                          "https://ann:se/secret@host", "http://host/?token=secret"}) {
    const absl::Status status = parse_http_url(url).status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument)) << url;
    EXPECT_THAT(status.message(), Not(HasSubstr("secret"))) << url;
  }
}

}  // namespace
}  // namespace millrace
