#include "embedding/policies/admission.h"

#include <google/protobuf/text_format.h>

#include <cmath>
#include <limits>

#include "base/status_matchers.h"
#include "embedding/policies/admission_registry.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

std::unique_ptr<Admission> make(const std::string& text, uint64_t seed = 1,
                                const std::string& table = "items") {
  AdmissionConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  absl::StatusOr<std::unique_ptr<Admission>> admission = Admission::create(config, seed, table);
  EXPECT_OK(admission);
  return *std::move(admission);
}

void see(Admission& admission, const std::vector<int64_t>& ids, uint32_t times = 1) {
  admission.count(ids, std::vector<uint32_t>(ids.size(), times));
}

TEST(AdmissionTest, AlwaysIsTheDefault) {
  for (const char* text : {"", "always {}"}) {
    EXPECT_TRUE(make(text)->admits_all());
    EXPECT_TRUE(make(text)->admits(-1, 0));
  }
}

TEST(AdmissionTest, ReadOnlyAdmitsNothing) {
  const std::unique_ptr<Admission> admission = make("read_only {}");
  EXPECT_FALSE(admission->admits_all());
  see(*admission, {1}, 1000);
  EXPECT_FALSE(admission->admits(1, 1000));
  EXPECT_EQ(admission->state(), AdmissionState());
}

class CountTest : public testing::TestWithParam<const char*> {};

TEST_P(CountTest, AdmitsInTheStepAfterEnoughOccurrences) {
  const std::unique_ptr<Admission> admission =
      make(absl::StrCat("count { min_count: 4 ", GetParam(), " }"));
  EXPECT_FALSE(admission->admits_all());
  see(*admission, {1, 2});  // each once
  see(*admission, {1}, 2);  // id 1 has occurred three times
  EXPECT_TRUE(admission->admits(1, 2));
  EXPECT_FALSE(admission->admits(2, 2));
  EXPECT_FALSE(admission->admits(3, 2));
  see(*admission, {3}, 50);  // all in one step
  EXPECT_TRUE(admission->admits(3, 3));
  admission->clear();
  EXPECT_FALSE(admission->admits(1, 2));
}

TEST_P(CountTest, OneSightingIsAlways) {
  EXPECT_TRUE(make(absl::StrCat("count { min_count: 1 ", GetParam(), " }"))->admits(9, 0));
}

TEST_P(CountTest, StateGoesOutAndComesBack) {
  const std::string text = absl::StrCat("count { min_count: 3 ", GetParam(), " }");
  const std::unique_ptr<Admission> admission = make(text), other = make(text);
  see(*admission, {5, -7, std::numeric_limits<int64_t>::min(), 0});
  see(*admission, {-7, 0});
  ASSERT_OK(other->set_state(admission->state()));
  EXPECT_EQ(other->state(), admission->state());
  EXPECT_EQ(other->candidates(), admission->candidates());
  EXPECT_TRUE(other->admits(-7, 0));
  EXPECT_FALSE(other->admits(5, 0));
}

INSTANTIATE_TEST_SUITE_P(Kinds, CountTest, testing::Values("", "sketch { capacity: 1000 }"));

TEST(AdmissionTest, ExactCountsAreForgottenWithARow) {
  const std::unique_ptr<Admission> admission = make("count { min_count: 2 }");
  see(*admission, {1, 2, 3});
  EXPECT_EQ(admission->candidates(), 3);
  EXPECT_GT(admission->bytes(), 0);
  admission->forget(std::vector<int64_t>{1, 3, 99});
  EXPECT_EQ(admission->candidates(), 1);
  EXPECT_FALSE(admission->admits(1, 5));  // must occur again
  EXPECT_TRUE(admission->admits(2, 5));
}

TEST(AdmissionTest, ExactStateIsInPlacementOrder) {
  const std::unique_ptr<Admission> a = make("count { min_count: 9 }");
  const std::unique_ptr<Admission> b = make("count { min_count: 9 }");
  see(*a, {1, 2, 3, 4, 5, 6}, 2);
  see(*b, {6, 5, 4});
  see(*b, {3, 2, 1, 6, 5, 4});
  see(*b, {1, 2, 3});
  EXPECT_EQ(a->state(), b->state());
  EXPECT_THAT(a->state().counts, ElementsAre(2, 2, 2, 2, 2, 2));
}

TEST(AdmissionTest, ExactCountsEndAtTheirLargest) {
  const std::unique_ptr<Admission> admission = make("count { min_count: 2147483647 }");
  see(*admission, {1}, 4'000'000'000u);
  see(*admission, {1}, 4'000'000'000u);
  EXPECT_THAT(admission->state().counts, ElementsAre(std::numeric_limits<uint32_t>::max()));
}

TEST(AdmissionTest, RefusesStatesThatAreNotItsOwn) {
  const std::unique_ptr<Admission> exact = make("count { min_count: 2 }");
  const std::unique_ptr<Admission> sketch = make("count { min_count: 2 sketch {} }");
  see(*exact, {1});
  const AdmissionState before = exact->state();
  EXPECT_THAT(exact->set_state(sketch->state()), StatusIs(kInvalid, HasSubstr("another kind")));
  EXPECT_THAT(sketch->set_state(before), StatusIs(kInvalid, HasSubstr("another kind")));
  EXPECT_THAT(make("")->set_state(before), StatusIs(kInvalid, HasSubstr("another kind")));
  EXPECT_OK(make("")->set_state({}));
  for (const AdmissionState& state :
       {AdmissionState{{1, 1}, {2, 2}, {}}, AdmissionState{{1, 2}, {2}, {}},
        AdmissionState{{1}, {2, 2}, {}}, AdmissionState{{1}, {0}, {}}}) {
    EXPECT_THAT(exact->set_state(state), StatusIs(kInvalid));
  }
  EXPECT_EQ(exact->state(), before);
}

TEST(AdmissionTest, ProbabilityIsAPureFunctionWithTheRightShare) {
  constexpr int64_t kIds = 100'000;
  for (const double p : {0.001, 0.3, 0.9}) {
    const std::string text = absl::StrCat("probability { probability: ", p, " }");
    const std::unique_ptr<Admission> a = make(text), b = make(text);
    const std::unique_ptr<Admission> seed = make(text, 2), table = make(text, 1, "users");
    int64_t admitted = 0, with_second = 0, as_seed = 0, as_table = 0;
    for (int64_t id = 0; id < kIds; ++id) {
      const bool first = a->admits(id, 7);
      ASSERT_EQ(first, b->admits(id, 7));
      admitted += first;
      with_second += first || a->admits(id, 8);
      as_seed += first == seed->admits(id, 7);
      as_table += first == table->admits(id, 7);
    }
    const auto near = [](double share) { return 5 * std::sqrt(kIds * share * (1 - share)); };
    EXPECT_NEAR(admitted, kIds * p, near(p));
    EXPECT_NEAR(with_second, kIds * (1 - (1 - p) * (1 - p)), near(p));
    const double same = p * p + (1 - p) * (1 - p);  // if independent
    EXPECT_NEAR(as_seed, kIds * same, near(same));
    EXPECT_NEAR(as_table, kIds * same, near(same));
  }
  const std::unique_ptr<Admission> certain = make("probability { probability: 1 }");
  for (int64_t id = 0; id < 1000; ++id) EXPECT_TRUE(certain->admits(id, 0));
}

// Admits the id that equals its seed.
class OneId : public Admission {
 public:
  explicit OneId(const AdmissionInput& input) : input_(input) {}
  bool admits(int64_t id, int64_t) const override {
    return input_.table == "items" && id == static_cast<int64_t>(input_.seed);
  }
  std::unique_ptr<Admission> clone() const override { return std::make_unique<OneId>(*this); }

 private:
  const AdmissionInput input_;
};

absl::StatusOr<std::unique_ptr<Admission>> create_one_id(const CustomConfig&,
                                                         const AdmissionInput& input) {
  if (input.seed == 0) return absl::InvalidArgumentError("seed is 0");
  return std::make_unique<OneId>(input);
}
MILLRACE_REGISTER_ADMISSION(one_id, "the id that is the seed", &create_one_id);

TEST(AdmissionTest, CustomIsMadeWithTableAndSeed) {
  const std::unique_ptr<Admission> admission = make("custom { name: 'one_id' }", 7);
  EXPECT_TRUE(admission->admits(7, 0));
  EXPECT_FALSE(admission->admits(8, 0));
  EXPECT_FALSE(make("custom { name: 'one_id' }", 7, "users")->admits(7, 0));
}

TEST(AdmissionTest, CustomThatCannotBeMadeIsNamed) {
  AdmissionConfig config;
  config.mutable_custom()->set_name("one_idd");
  EXPECT_THAT(Admission::create(config, 1, "items"),
              StatusIs(kInvalid, AllOf(HasSubstr("table items.admission.custom"),
                                       HasSubstr("\"one_idd\""), HasSubstr("\"one_id\""))));
  config.mutable_custom()->set_name("one_id");
  EXPECT_THAT(Admission::create(config, 0, "items"),
              StatusIs(kInvalid, HasSubstr("admission \"one_id\": seed is 0")));
}

TEST(AdmissionTest, RefusesBadConfigurationsNamingTheTable) {
  AdmissionConfig config;
  config.mutable_count()->set_min_count(0);
  EXPECT_THAT(Admission::create(config, 1, "items"),
              StatusIs(kInvalid, HasSubstr("table items.admission.count: min_count is 0")));
}

}  // namespace
}  // namespace millrace
