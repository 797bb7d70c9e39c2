#include <gtest/gtest.h>

#include <string>

#include "base/status_matchers.h"
#include "proto/config_reader.h"
#include "proto/model_configs.pb.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

class ApplyOverrideTest : public testing::Test {
 protected:
  ApplyOverrideTest() {
    EXPECT_OK(parse_text(R"(
        train { seed: 3 train_data { path: ["a.orc", "b.orc"] }
                feature { name: "c1" } feature { name: "c2" table: "t" }
                optimizer { sgd { momentum: 0.9 } } })",
                         "test", &config_));
  }
  absl::Status apply(absl::string_view assignment) { return apply_override(assignment, &config_); }
  // Expects an error about `assignment` that contains `message`, and an unchanged configuration.
  void expect_error(absl::string_view assignment, const std::string& message) {
    const std::string before = to_text(config_);
    EXPECT_THAT(apply(assignment), StatusIs(kInvalid, HasSubstr(message))) << assignment;
    EXPECT_EQ(to_text(config_), before) << assignment;
  }

  JobConfig config_;
};

TEST_F(ApplyOverrideTest, Numbers) {
  ASSERT_OK(apply("train.max_epochs=3"));
  ASSERT_OK(apply("train.optimizer.learning_rate = 0.01"));
  ASSERT_OK(apply("train.train_data.drop_remainder=true"));
  EXPECT_EQ(config_.train().max_epochs(), 3);
  EXPECT_EQ(config_.train().optimizer().learning_rate(), 0.01);
  EXPECT_TRUE(config_.train().train_data().drop_remainder());
  EXPECT_EQ(config_.train().seed(), 3u) << "the rest stays";
}

TEST_F(ApplyOverrideTest, TextWithAndWithoutQuotes) {
  ASSERT_OK(apply("run.output_dir=a b=c"));
  EXPECT_EQ(config_.run().output_dir(), "a b=c");
  ASSERT_OK(apply("run.output_dir=\"x\\ty\""));
  EXPECT_EQ(config_.run().output_dir(), "x\ty");
  ASSERT_OK(apply("run.output_dir=C:\\new"));
  EXPECT_EQ(config_.run().output_dir(), "C:\\new") << "nothing is an escape without quotes";
  ASSERT_OK(apply("run.output_dir="));
  EXPECT_EQ(config_.run().output_dir(), "");
}

TEST_F(ApplyOverrideTest, MessagesOnTheWayAreMade) {
  ASSERT_OK(apply("run.report.when.every_steps=10"));
  EXPECT_EQ(config_.run().report().when().every_steps(), 10);
}

TEST_F(ApplyOverrideTest, EnteringAnotherMemberOfAOneofReplacesIt) {
  ASSERT_OK(apply("train.optimizer.adam.beta1=0.5"));
  EXPECT_FALSE(config_.train().optimizer().has_sgd());
  EXPECT_EQ(config_.train().optimizer().adam().beta1(), 0.5);
}

TEST_F(ApplyOverrideTest, WholeMessagesAndEnums) {
  ASSERT_OK(apply("train.optimizer={learning_rate: 2}"));
  EXPECT_EQ(config_.train().optimizer().learning_rate(), 2);
  EXPECT_FALSE(config_.train().optimizer().has_sgd()) << "replaced as a whole";
  ASSERT_OK(apply("train.feature[0].pooling=MEAN"));
  EXPECT_EQ(config_.train().feature(0).pooling(), MEAN);
}

TEST_F(ApplyOverrideTest, ListsAreReplacedAsAWhole) {
  ASSERT_OK(apply("train.train_data.path=[\"c\", 'd']"));
  EXPECT_THAT(config_.train().train_data().path(), ElementsAre("c", "d"));
  ASSERT_OK(apply("train.train_data.path=part-*.orc"));
  EXPECT_THAT(config_.train().train_data().path(), ElementsAre("part-*.orc"));
  ASSERT_OK(apply("train.train_data.path=[]"));
  EXPECT_EQ(config_.train().train_data().path_size(), 0);
  ASSERT_OK(apply("train.feature=[{name: \"x\"}, {name: \"y\"}, {name: \"z\"}]"));
  EXPECT_EQ(config_.train().feature_size(), 3);
}

TEST_F(ApplyOverrideTest, EntriesByIndex) {
  ASSERT_OK(apply("train.feature[1].table=items"));
  EXPECT_EQ(config_.train().feature(1).table(), "items");
  ASSERT_OK(apply("train.train_data.path[0]=[x].orc"));
  EXPECT_THAT(config_.train().train_data().path(), ElementsAre("[x].orc", "b.orc"));
  ASSERT_OK(apply("train.feature[0]={name: \"other\"}"));
  EXPECT_EQ(config_.train().feature(0).name(), "other");
  EXPECT_EQ(config_.train().feature(1).name(), "c2");
  EXPECT_EQ(config_.train().feature_size(), 2);
}

TEST_F(ApplyOverrideTest, Extensions) {
  ASSERT_OK(apply("train.model.[millrace.deepfm].dropout=0.1"));
  ASSERT_OK(apply("train.model.[millrace.deepfm].hidden=[8, 4]"));
  ASSERT_OK(apply("train.model.[millrace.deepfm].hidden[1]=5"));
  EXPECT_EQ(config_.train().model().GetExtension(deepfm).dropout(), 0.1);
  EXPECT_THAT(config_.train().model().GetExtension(deepfm).hidden(), ElementsAre(8, 5));
  ASSERT_OK(apply("train.model.[millrace.dlrm]={top: 3}"));
  EXPECT_THAT(config_.train().model().GetExtension(dlrm).top(), ElementsAre(3));
}

TEST_F(ApplyOverrideTest, UnknownNamesGiveTheNearest) {
  expect_error("train.max_epocs=3",
               "train.max_epocs: TrainConfig has no field \"max_epocs\"; did you mean "
               "\"max_epochs\"?");
  expect_error("trian.max_epochs=3", "JobConfig has no field \"trian\"; did you mean \"train\"?");
  expect_error("train.optimzer.learning_rate=3", "did you mean \"optimizer\"?");
  expect_error("train.model.[millrace.depfm].dropout=0", "did you mean \"millrace.deepfm\"?");
  expect_error("train.[millrace.deepfm].dropout=0", "TrainConfig has no extension");
  expect_error("train.feature[0].pooling=MEN", "did you mean \"MEAN\"?");
  expect_error("train.optimizer={learning_rat: 2}", "did you mean \"learning_rate\"?");
}

TEST_F(ApplyOverrideTest, Indexes) {
  expect_error("train.feature[2].table=x", "feature has 2 entries, numbered from 0");
  expect_error("train.train_data.path[2]=x", "path has 2 entries");
  expect_error("train.table[0].dim=3", "table has 0 entries");
  expect_error("train.feature.table=x", "feature is a list of 2; write feature[0]");
  expect_error("train.seed[0]=1", "seed is not a list");
  expect_error("train.optimizer[0].learning_rate=1", "optimizer is not a list");
  expect_error("train.feature[-1].table=x", "[-1] is not an index");
  expect_error("train.model[millrace.deepfm].dropout=0", "written model.[millrace.deepfm]");
}

TEST_F(ApplyOverrideTest, WrongValues) {
  expect_error("train.max_epochs=three", "train.max_epochs: value three: Expected integer");
  expect_error("train.max_epochs=", "Expected integer");
  expect_error("train.max_epochs=1.5", "Expected integer");
  expect_error("train.train_data.drop_remainder=maybe", "maybe");
  expect_error("run.report.span=[\"EPOCH\"]",
               "run.report.span: value [\"EPOCH\"]: value \"EPOCH\" of field \"span\" is in "
               "quotes; write it without them; known: WINDOW, EPOCH, TOTAL, MOVING");
  expect_error("run.output_dir=\"open", "value \"open");
  expect_error("train.optimizer=3", "Expected \"{\"");
  expect_error("train.max_epochs=1 seed: 2", "not a single value");
  expect_error("train.feature[0]=[{name: \"a\"}, {name: \"b\"}]", "not a single value");
}

TEST_F(ApplyOverrideTest, WrongPaths) {
  expect_error("train.max_epochs", "is not of the form path.to.field=value");
  expect_error("=3", "a name is missing");
  expect_error("train.=3", "a name is missing");
  expect_error("train..seed=3", "a name is missing");
  expect_error(".seed=3", "a name is missing");
  expect_error("train.seed.x=3", "seed is a value and has no fields");
  expect_error("train.feature[0=3", "a bracket is not closed");
  expect_error("train.feature[0]name=3", "a dot is missing after ]");
}

}  // namespace
}  // namespace millrace
