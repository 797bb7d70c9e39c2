#include "distributed/store_seal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
constexpr auto kDenied = absl::StatusCode::kFailedPrecondition;

TEST(StoreSeal, OpensWhatWasSealedForTheKey) {
  const StoreSeal seal("secret");
  const std::string empty, long_value(100'000, 'x'), binary("\0\xff", 2);
  for (const std::string& value : {empty, binary, long_value}) {
    const std::string sealed = seal.seal("a/beat", value);
    EXPECT_EQ(sealed.size(), value.size() + 39);
    EXPECT_THAT(StoreSeal("secret").open("a/beat", sealed), IsOkAndHolds(value));
    EXPECT_NE(sealed, seal.seal("a/beat", value)) << "the nonce is new";
  }
  EXPECT_THAT(seal.seal("k", "the learning rate"), Not(HasSubstr("learning")));
}

TEST(StoreSeal, RefusesEveryOtherValue) {
  const StoreSeal seal("secret");
  const std::string sealed = seal.seal("a/beat", "value");
  std::vector<std::string> others = {"",
                                     "value",
                                     sealed.substr(0, 20),
                                     sealed + "x",
                                     StoreSeal("other").seal("a/beat", "value"),
                                     seal.seal("a/failure", "value")};
  for (size_t i = 0; i < sealed.size(); ++i) {
    others.push_back(sealed);
    others.back()[i] ^= 1;
  }
  for (const std::string& other : others) {
    EXPECT_THAT(seal.open("a/beat", other), StatusIs(kDenied, HasSubstr("\"a/beat\"")));
  }
}

TEST(StoreSeal, WithoutASecretValuesStayAsTheyAre) {
  const StoreSeal none("");
  EXPECT_EQ(none.seal("k", "value"), "value");
  EXPECT_THAT(none.open("k", "value"), IsOkAndHolds("value"));
  EXPECT_THAT(none.open("k", StoreSeal("secret").seal("k", "value")),
              StatusIs(kDenied, AllOf(HasSubstr("\"k\""), HasSubstr("MILLRACE_JOB_SECRET"))));
  EXPECT_EQ(none.prove("x"), "");
}

TEST(StoreSeal, AProofDependsOnSecretAndChallenge) {
  const std::string proof = StoreSeal("secret").prove("x");
  EXPECT_EQ(proof.size(), 32);
  EXPECT_EQ(proof, StoreSeal("secret").prove("x"));
  EXPECT_NE(proof, StoreSeal("secret").prove("y"));
  EXPECT_NE(proof, StoreSeal("other").prove("x"));
}

TEST(JobSecret, IsReadFromItsVariable) {
  const auto read = [](std::optional<std::string> value) {
    return read_job_secret([=](const char* name) {
      return name == std::string("MILLRACE_JOB_SECRET") ? value : std::nullopt;
    });
  };
  EXPECT_THAT(read(std::nullopt), IsOkAndHolds(""));
  EXPECT_THAT(read(std::string(32, 'A')), IsOkAndHolds(std::string(16, '\xaa')));
  EXPECT_NE(make_job_secret(), make_job_secret());
  EXPECT_EQ(read(make_job_secret())->size(), 32);
  for (const std::string wrong : {std::string(), std::string(31, 'a'), std::string(30, 'a'),
                                  std::string(33, 'a'), std::string(64, 'q')}) {
    EXPECT_THAT(
        read(wrong),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 AllOf(HasSubstr("MILLRACE_JOB_SECRET has "), HasSubstr("openssl rand -hex 32"),
                       Not(HasSubstr(std::string(30, 'a'))), Not(HasSubstr("qqq")))));
  }
  EXPECT_THAT(read(std::string(40, 'a') + "x" + std::string(23, 'a')).status().ToString(),
              HasSubstr("has 64 characters, of which number 41 is no digit; it must"));
}

}  // namespace
}  // namespace millrace
