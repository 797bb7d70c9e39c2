// Tests that a model with unannounced lookups is found in the first step on a single rank.
#include <memory>
#include <string>
#include <vector>

#include "base/status_matchers.h"
#include "tests/fakes/tiny_model.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using testing::HasSubstr;

using OnLookups = std::function<absl::Status(std::vector<TableLookup>&)>;

std::unique_ptr<Trainer> trainer_with(TinyTrainerOptions options, OnLookups on_lookups) {
  options.train.sparse = 2;
  TrainerParts parts = tiny_parts(options);
  static_cast<TinyModel&>(*parts.model).on_lookups = std::move(on_lookups);
  auto trainer = Trainer::create(options.trainer, std::move(parts));
  EXPECT_OK(trainer.status());
  return *std::move(trainer);
}

absl::Status announce_nothing(std::vector<TableLookup>& lookups) {
  lookups.clear();
  return absl::OkStatus();
}

TEST(OneRankLookupsTest, AnIdThatIsNotAnnouncedFailsTheFirstStep) {
  for (const bool frozen : {false, true}) {
    SCOPED_TRACE(frozen ? "frozen" : "trained");
    TinyTrainerOptions options;
    options.table.set_frozen(frozen);
    const std::unique_ptr<Trainer> trainer = trainer_with(options, announce_nothing);
    const absl::Status status = trainer->train().status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                                 HasSubstr("step 1: looking up embeddings: feature s0: id ")));
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("was not announced for this step; Model::lookups() must return every id "
                          "that the model looks up"));
    EXPECT_EQ(trainer->progress().step, 0);
  }
}

TEST(OneRankLookupsTest, AnErrorOfTheLookupsFailsTheFirstStep) {
  const std::unique_ptr<Trainer> trainer =
      trainer_with({}, [](std::vector<TableLookup>&) { return absl::DataLossError("planted"); });
  EXPECT_THAT(trainer->train(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("step 1: planted")));
}

// Later steps and evaluations have no further cost.
TEST(OneRankLookupsTest, OnlyTheFirstStepIsChecked) {
  TinyTrainerOptions options;
  options.train.batches = 6;
  options.trainer.micro_batches = 2;
  int calls = 0;
  const std::unique_ptr<Trainer> trainer =
      trainer_with(options, [&](std::vector<TableLookup>& lookups) {
        return ++calls > 2 ? announce_nothing(lookups) : absl::OkStatus();
      });
  ASSERT_OK(trainer->train().status());
  EXPECT_EQ(trainer->progress().step, 3);
  EXPECT_EQ(calls, 2) << "one for each micro-batch of the first step";
}

// Ids announced but not looked up leave no row.
TEST(OneRankLookupsTest, MoreMayBeAnnounced) {
  const std::unique_ptr<Trainer> plain = trainer_with({}, nullptr);
  const std::unique_ptr<Trainer> more = trainer_with({}, [](std::vector<TableLookup>& lookups) {
    TableLookup other = lookups[0];
    other.features.values = other.features.values + 1000;
    lookups.push_back(other);
    return absl::OkStatus();
  });
  ASSERT_OK(plain->train().status());
  ASSERT_OK(more->train().status());
  EXPECT_EQ(fingerprint(more->model()), fingerprint(plain->model()));
}

}  // namespace
}  // namespace millrace
