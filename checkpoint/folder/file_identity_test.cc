#include "checkpoint/folder/file_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "checkpoint/format/chunk_digests.h"

namespace millrace {
namespace {

TEST(FileIdentityTest, IsThatOfAFileOfACheckpoint) {
  MemoryFileSystem files;
  for (const size_t size : {size_t{0}, size_t{3}, size_t{kChunkBytes}, size_t{kChunkBytes + 5}}) {
    std::string content(size, 'x');
    if (size > 0) content.back() = 'y';
    ASSERT_OK(write_file_atomically(files, "/f", content));
    ASSERT_OK_AND_ASSIGN(const FileIdentity identity, identify_file(files, "/f"));
    EXPECT_EQ(identity.size_bytes, static_cast<int64_t>(size));
    EXPECT_EQ(identity.digest, format_digest(file_digest(chunks_of("f", content).digests)));
  }
  // The example of docs/checkpoint_format.md.
  ASSERT_OK(write_file_atomically(files, "/f", "abc"));
  EXPECT_EQ(identify_file(files, "/f")->digest, "f758394eebabb2bb51ee911f78f31836");
  EXPECT_THAT(identify_file(files, "/none").status(), StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace millrace
