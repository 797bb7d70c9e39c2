#include "sinks/mlflow/http_response.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

constexpr size_t kMostBodyBytes = 1000;

// Returns the response that arrives in pieces of `piece` bytes, after which the server closes.
absl::StatusOr<HttpResponse> read(const std::string& bytes, size_t piece) {
  HttpResponseReader reader(kMostBodyBytes);
  for (size_t i = 0; i < bytes.size() && !reader.done(); i += piece) {
    RETURN_IF_ERROR(reader.add(absl::string_view(bytes).substr(i, piece)));
  }
  RETURN_IF_ERROR(reader.end());
  return reader.response();
}

void expect_response(const std::string& bytes, int status, const std::string& body) {
  for (const size_t piece : {1, 2, 3, 7, 100000}) {
    ASSERT_OK_AND_ASSIGN(const HttpResponse response, read(bytes, piece));
    EXPECT_EQ(response.status, status) << bytes;
    EXPECT_EQ(response.body, body) << bytes;
  }
}

void expect_error(const std::string& bytes, const std::string& what) {
  for (const size_t piece : {1, 100000}) {
    EXPECT_THAT(read(bytes, piece).status(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(what)))
        << bytes.substr(0, 100);
  }
}

TEST(HttpResponseTest, Bodies) {
  expect_response("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", 200, "{}");
  expect_response("HTTP/1.1 200 OK\r\ncontent-length:2\r\n\r\n{}rest", 200, "{}");
  expect_response("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", 200, "");
  expect_response("HTTP/1.0 404 NOT FOUND\r\n\r\nnone", 404, "none");
  expect_response("HTTP/1.1 204 No Content\r\n\r\n", 204, "");
  expect_response("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\na", 200, "a");
  expect_response(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n"
      "3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n",
      200, "abc0123456789");
}

TEST(HttpResponseTest, IncompleteOnes) {
  expect_error("", "without a response");
  expect_error("HTTP/1.1 200 OK\r\nContent-Le", "within its response");
  expect_error("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}", "within its response");
  expect_error("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab",
               "within its response");
  expect_error("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "within its response");
}

TEST(HttpResponseTest, MalformedOnes) {
  expect_error("SSH-2.0-OpenSSH_9.2\r\n", "does not begin with HTTP/1");
  expect_error("HTTP/2 200\r\n\r\n", "does not begin with HTTP/1");
  expect_error("HTTP/1.1 abc\r\n\r\n", "no status");
  expect_error("HTTP/1.1 20\r\n\r\n", "no status");
  expect_error("HTTP/1.1 2000\r\n\r\n", "no status");
  expect_error("HTTP/1.1 200 OK\r\nno field\r\n\r\n", "has no colon");
  expect_error("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "Content-Length");
  expect_error("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n",
               "Content-Length");
  expect_error("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
               "Content-Length");
  expect_error("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "transfer encoding");
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  expect_error(chunked + "x\r\n", "a chunk has no size");
  expect_error(chunked + "\r\n", "a chunk has no size");
  expect_error(chunked + "-3\r\n", "a chunk has no size");
  expect_error(chunked + "1\r\nabc\r\n", "a chunk has no end");
}

TEST(HttpResponseTest, Limits) {
  const std::string big(kMostBodyBytes + 1, 'x');
  const std::string endless(HttpResponseReader::kMostHeadBytes + 1, 'x');
  expect_error("HTTP/1.1 200 OK\r\n\r\n" + big, "more than 1000 bytes");
  expect_error("HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n", "more than 1000 bytes");
  expect_error("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n",
               "more than 1000 bytes");
  expect_error("HTTP/1.1 200 OK\r\nX: " + endless, "its header exceeds 65536 bytes");
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  expect_error(chunked + "3E9\r\n", "more than 1000 bytes");
  expect_error(chunked + "FFFFFFFFFFFFFFF\r\n", "more than 1000 bytes");
  expect_error(chunked + "FFFFFFFFFFFFFFFFF\r\n", "a chunk has no size");
  expect_error(absl::StrCat(chunked, "1;", endless), "a line exceeds 65536 bytes");
  expect_error(absl::StrCat(chunked, "0\r\n", endless), "a line exceeds 65536 bytes");
}

}  // namespace
}  // namespace millrace
