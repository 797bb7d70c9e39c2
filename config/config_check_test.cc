#include "config/config_check.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "io/epoch/dataset_registry.h"
#include "proto/config_reader.h"
#include "proto/model_configs.pb.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

// Returns a valid job.
JobConfig valid() {
  JobConfig config;
  EXPECT_OK(parse_text(R"(
      train {
        train_data { path: "a.orc" }
        eval_data { data { path: "b.orc" } }
        eval_data { name: "late" data { path: "c.orc" } }
        feature { name: "label" kind: LABEL }
        feature { name: "i{1..2}" kind: DENSE default_value: 0 transform { log1p {} } }
        feature { name: "c{1..4}" default_id: 0 transform { hash {} }
                  transform { modulo { divisor: 100 } } }
        table { name: "c{1..4}" dim: 8 }
        model { name: "deepfm" [millrace.deepfm] { dropout: 0.5 } }
        hooks { name: "a" }
      }
      run { hooks { name: "b" } })",
                       "valid", &config));
  expand_names(config.mutable_train());
  return config;
}

TEST(ValidateTest, AcceptsAValidJobWithItsDefaultsWrittenOut) {
  EXPECT_OK(validate(valid()));
  JobConfig full;
  ASSERT_OK(parse_text(to_text_with_defaults(valid()), "full", &full));
  EXPECT_OK(validate(full));
}

absl::StatusOr<std::unique_ptr<Dataset>> create_some_examples(const CustomConfig&,
                                                              const DatasetOptions&) {
  return absl::UnimplementedError("no examples");
}
MILLRACE_REGISTER_DATASET(some_examples, "a dataset of a test", &create_some_examples);

TEST(ValidateTest, ARegisteredDatasetStandsForFiles) {
  JobConfig config = valid();
  ASSERT_OK(
      apply_override("train.train_data={custom_dataset {name: 'some_examples'} batch_size: 8 "
                     "drop_remainder: true shuffle_rows: 100}",
                     &config));
  EXPECT_OK(validate(config));
  // `config defaults` writes these fields.
  ASSERT_OK(apply_override("train.train_data.sample={rate: 1}", &config));
  ASSERT_OK(apply_override("train.train_data.bad_data=FAIL", &config));
  ASSERT_OK(apply_override("train.train_data.max_group_bytes=1073741824", &config));
  EXPECT_OK(validate(config));
  ASSERT_OK(apply_override("train.train_data.sample={rate: 0.5}", &config));
  EXPECT_THAT(validate(config), StatusIs(kInvalid, HasSubstr("remove sample")));
}

TEST(ValidateTest, TasksFitTheLabels) {
  JobConfig config = valid();
  ASSERT_OK(apply_override("train.task=[{label: 'label' focal {gamma: 1}}]", &config));
  EXPECT_OK(validate(config));
  ASSERT_OK(apply_override("train.task[0].label='lable'", &config));
  EXPECT_THAT(validate(config),
              StatusIs(kInvalid, HasSubstr("train.task[0] \"lable\": no feature of kind LABEL "
                                           "\"lable\"; did you mean \"label\"?")));
  ASSERT_OK(apply_override("train.task=[{huber {}}]", &config));
  EXPECT_THAT(validate(config), StatusIs(kInvalid, HasSubstr("binary_labels: false")));
}

TEST(ValidateTest, NoEvaluationSetHasTheNameOfTraining) {
  JobConfig config = valid();
  ASSERT_OK(apply_override("train.eval_data[1].name=train", &config));
  EXPECT_THAT(validate(config), StatusIs(absl::StatusCode::kInvalidArgument,
                                         HasSubstr("train.eval_data[1] \"train\": reports")));
}

TEST(ValidateTest, MistakesOfAllPartsAreFoundTogether) {
  JobConfig config = valid();
  for (const char* mistake : {"train.max_steps=-1",
                              "train.max_epochs=-2",
                              "train.train_data.batch_size=0",
                              "train.train_data.max_bad_fraction=2",
                              "train.eval_data[0].data.batch_size=-3",
                              "train.eval_data[1].name='a b'",
                              "train.table[0].dim=0",
                              "train.table[1].optimizer={learning_rate: -4 adagrad {epsilon: 0}}",
                              "train.table[2].dim=-5",
                              "train.feature[4].table='x'",
                              "train.task=[{weight: -6}]",
                              "train.optimizer={learning_rate: -7 adam {beta1: 1 beta2: 2}}",
                              "train.clipping={}",
                              "train.hooks=[{}]",
                              "run.threads=-8",
                              "run.read.reader_threads=0",
                              "run.distributed={data_timeout_seconds: 0 poll_interval_seconds: 0}",
                              "run.checkpoint.write_threads=0",
                              "run.checkpoint.max_deltas=-9",
                              "run.report.when.every_steps=-10",
                              "run.evaluation.when.every_epochs=-11"}) {
    ASSERT_OK(apply_override(mistake, &config)) << mistake;
  }
  const std::string text(validate(config).message());
  for (const char* part : {"train: max_steps is -1",
                           "train: max_epochs is -2",
                           "train.train_data: batch_size is 0",
                           "train.train_data: max_bad_fraction is 2",
                           "\"eval\".data: batch_size is -3",
                           "train.eval_data[1] \"a b\": name may hold",
                           "train.table[0] \"c1\": dim is 0",
                           "\"c2\".optimizer: learning_rate is -4",
                           "\"c2\".optimizer.adagrad: epsilon is 0",
                           "train.table[2] \"c3\": dim is -5",
                           "train.feature[4] \"c2\": no table \"x\"",
                           "train.task[0]: weight is -6",
                           "train.optimizer: learning_rate is -7",
                           "train.optimizer.adam: beta1 is 1",
                           "train.optimizer.adam: beta2 is 2",
                           "train.clipping: no limit",
                           "train.hooks[0]: name is missing",
                           "run: threads is -8",
                           "run.read: reader_threads is 0",
                           "run.distributed: data_timeout_seconds is 0",
                           "run.distributed: poll_interval_seconds is 0",
                           "run.checkpoint: write_threads is 0",
                           "run.checkpoint: max_deltas is -9",
                           "run.report.when: every_steps is -10",
                           "run.evaluation.when: every_epochs is -11"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(ValidateTest, AMetricThatIsNamedTwice) {
  JobConfig config = valid();
  ASSERT_OK(apply_override("train.metric=['auc', 'ne', 'auc']", &config));
  ASSERT_OK(apply_override("train.eval_data[1].metric=['mean', 'mean']", &config));
  EXPECT_THAT(
      validate(config),
      StatusIs(kInvalid,
               "train.eval_data[1] \"late\".metric[1] \"mean\": the metric is named before; "
               "remove one\n"
               "train.metric[2] \"auc\": the metric is named before; remove one"));
}

TEST(ValidateTest, AWarmupEndsInTraining) {
  JobConfig config = valid();
  ASSERT_OK(
      apply_override("train.optimizer={schedule {linear_warmup {length {count: 100}}}}", &config));
  EXPECT_OK(validate(config)) << "how long training is, is not known";
  ASSERT_OK(apply_override("train.max_steps=100", &config));
  EXPECT_OK(validate(config));
  ASSERT_OK(apply_override("train.max_steps=99", &config));
  EXPECT_THAT(
      validate(config),
      StatusIs(kInvalid,
               HasSubstr("train.optimizer.schedule.linear_warmup.length: the warm-up of 100 "
                         "steps does not end in training, which has 99")));
}

TEST(ValidateTest, IdleWindowsNeedWindows) {
  JobConfig config = valid();
  ASSERT_OK(apply_override("train.table[2].eviction={idle_windows: 5}", &config));
  ASSERT_OK(apply_override("train.hooks=[{name: 'evict_rows'}]", &config));
  EXPECT_THAT(validate(config), StatusIs(kInvalid,
                                         "train.table[2] \"c3\".eviction: idle_windows needs "
                                         "train_data.windows"));
  ASSERT_OK(apply_override("train.train_data={windows {directory {path: 'in'}}}", &config));
  EXPECT_OK(validate(config));
}

// The output of `config defaults` has the same meaning.
TEST(ValidateTest, AcceptsNewFieldsWithDefaultsWrittenOut) {
  for (const char* text : {
           "train.global_batch_size=64",
           "train.more_optimizers={pattern: \"deep*\" frozen: true}",
           "train.optimizer={schedule {cosine {length {count: 9}}}}",
           "train.optimizer={schedule {polynomial {length {count: 9}}}}",
           "train.optimizer={schedule {exponential {gamma: 0.5}}}",
           "train.optimizer={schedule {inverse_square_root {}}}",
           "train.optimizer={schedule {unit: EPOCHS chained {part {length {count: 2} schedule "
           "{constant {}}} part {schedule {exponential {gamma: 0.9}}}}}}",
           "train.clipping={max_norm: 1}",
           "train.metric=['auc', 'ne']",
           "train.moving_average={}",
           "train.moving_average={decay: 0 warmup: false evaluate: false}",
       }) {
    SCOPED_TRACE(text);
    JobConfig job = valid();
    ASSERT_OK(apply_override(text, &job));
    ASSERT_OK(validate(job));
    JobConfig full;
    ASSERT_OK(parse_text(to_text_with_defaults(job), "defaults", &full));
    EXPECT_OK(validate(full));
  }
}

TEST(ValidateTest, AcceptsTablesWithEveryPolicy) {
  JobConfig config = valid();
  ASSERT_OK(apply_override("train.table[0].eviction={idle_steps: 5}", &config));
  ASSERT_OK(apply_override("train.table[1].limit={max_rows: 5 on_full: EVICT_LRU}", &config));
  ASSERT_OK(apply_override("train.table[2].admission={count {min_count: 3 sketch {}}}", &config));
  ASSERT_OK(apply_override("train.table[3].default_value={constant {}}", &config));
  ASSERT_OK(apply_override("train.hooks=[{name: 'evict_rows'}]", &config));
  EXPECT_OK(validate(config));
  JobConfig full;
  ASSERT_OK(parse_text(to_text_with_defaults(config), "full", &full));
  EXPECT_OK(validate(full));
  EXPECT_FALSE(full.train().table(3).has_eviction());
}

TEST(ValidateTest, AcceptsWindows) {
  JobConfig config = valid();
  ASSERT_OK(apply_override("train.train_data={windows {directory {path: 'in'}}}", &config));
  ASSERT_OK(apply_override("train.max_windows=3", &config));
  const auto changed = [&](const std::vector<std::string>& changes) {
    JobConfig other = config;
    for (const std::string& change : changes) EXPECT_OK(apply_override(change, &other));
    return validate(other);
  };
  const auto unused = [](const char* what) { return StatusIs(kInvalid, HasSubstr(what)); };
  EXPECT_THAT(changed({"train.max_steps_per_epoch=5"}), unused("max_steps_per_epoch does nothing"));
  EXPECT_THAT(changed({"train.max_epochs=3"}), unused("a stream of windows is one epoch"));
  EXPECT_OK(changed({"train.max_epochs=3", "train.max_windows_per_epoch=2"}));
  const std::string list = "train.train_data={path: 'a.orc' windows {}}";
  EXPECT_OK(changed({list, "train.max_epochs=3"}));
  const std::string paired = "train.eval_data[1].data={path: 'c.orc' windows {}}";
  EXPECT_OK(changed({list, paired}));
  EXPECT_THAT(changed({list, paired, "train.max_epochs=3"}),
              unused("training ends with the windows of evaluation set late"));
  ASSERT_OK(apply_override("run.evaluation.progressive=true", &config));
  EXPECT_OK(validate(config));
  JobConfig full;
  ASSERT_OK(parse_text(to_text_with_defaults(config), "full", &full));
  EXPECT_OK(validate(full));
  EXPECT_TRUE(full.train().train_data().has_windows());
  JobConfig without;
  ASSERT_OK(parse_text(to_text_with_defaults(valid()), "full", &without));
  EXPECT_FALSE(without.train().train_data().has_windows());
}

TEST(ValidateTest, AShareOfTheStepsNeedsTheirNumber) {
  JobConfig config = valid();
  ASSERT_OK(apply_override("run.checkpoint.when={every_share: 0.1 after_steps: 5}", &config));
  EXPECT_OK(validate(config)) << "the steps of max_epochs are counted";
  ASSERT_OK(apply_override("train.max_epochs=0", &config));
  EXPECT_THAT(
      validate(config),
      StatusIs(kInvalid, HasSubstr("run.checkpoint.when: every_share needs a number of steps")));
  ASSERT_OK(apply_override("train.max_steps=100", &config));
  EXPECT_OK(validate(config));
}

TEST(ValidateTest, AcceptsMixesAndSamples) {
  JobConfig config = valid();
  ASSERT_OK(
      apply_override("train.train_data={batch_size: 64 mix {"
                     "source { data { path: 'a' sample { rate: 0.5 } } proportion: 1 }"
                     "source { data { path: 'b' csv { column: 'c{1..3}' } } proportion: 2 "
                     "repeat: true } } }",
                     &config));
  ASSERT_OK(apply_override("train.eval_data[0].data.sample={negative_rate: 0.1 label: 'label'}",
                           &config));
  expand_names(config.mutable_train());
  EXPECT_EQ(config.train().train_data().mix().source(1).data().csv().column_size(), 3);
  EXPECT_OK(validate(config));
  JobConfig full;
  ASSERT_OK(parse_text(to_text_with_defaults(config), "full", &full));
  EXPECT_OK(validate(full));
  EXPECT_EQ(full.train().train_data().mix().source_size(), 2);
  EXPECT_FALSE(full.train().eval_data(0).data().has_mix());
}

// Each override alone makes the job invalid, and the error names the place and the reason.
class InvalidTest : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(InvalidTest, IsAnError) {
  JobConfig config = valid();
  ASSERT_OK(apply_override(GetParam().first, &config));
  EXPECT_THAT(validate(config), StatusIs(kInvalid, HasSubstr(GetParam().second)));
}

using Case = std::pair<const char*, const char*>;

INSTANTIATE_TEST_SUITE_P(
    Limits, InvalidTest,
    testing::Values(
        Case{"train.max_steps=-1", "train: max_steps is -1; must be at least 0"},
        Case{"train.default_table={name: 'x'}", "train.default_table: name is given"},
        Case{"train.default_table={dim: 8}", "train.default_table: no table is made from it"},
        Case{"train.max_windows=3", "max_windows, max_steps_per_window and max_windows_per_epoch"},
        Case{"train.max_windows_per_epoch=3", "max_windows_per_epoch need train_data.windows"},
        Case{"run.checkpoint.when={after_steps: 5}",
             "run.checkpoint.when: after_steps needs every_steps"},
        Case{"run.evaluation.when={every_steps: 5 after_epochs: 2}",
             "after_epochs needs every_epochs"},
        Case{"run.report.when={every_share: 1.5}", "every_share is 1.5"},
        Case{"run.evaluation.progressive=true", "progressive needs"},
        Case{"run.window_io.move_done_to='file:///done'", "only read"},
        Case{"train.non_finite.max_in_a_row=0", "train.non_finite: max_in_a_row is 0"}));

INSTANTIATE_TEST_SUITE_P(
    Data, InvalidTest,
    testing::Values(
        Case{"train.train_data.path=[]", "train.train_data: path is missing"},
        Case{"train.train_data.windows={repeat: 0}", "train.train_data.windows: repeat is 0"},
        Case{"train.eval_data[0].data.windows={}", "data.windows: need train_data.windows"},
        Case{"train.train_data.sample={rate: 0}", "train.train_data.sample: rate is 0"},
        Case{"train.eval_data[0].data.sample={label: 'no'}", "data.sample: no label \"no\""},
        Case{"train.eval_data[0].data.mix={}", "data.mix: is for training"},
        Case{"train.train_data.mix={}", "train.train_data.mix: path is given beside it"},
        Case{"train.train_data={mix {}}", "train.train_data.mix: has 0 sources"},
        Case{"train.train_data={mix {source {proportion: 1}}}",
             "train.train_data.mix.source[0].data: path is missing"},
        Case{"train.train_data={mix {source {name: 'a' proportion: 1 data {path: 'b' split "
             "{to: 2}}}}}",
             "train.train_data.mix.source[0] \"a\".data.split: from 0 to 2"},
        Case{"train.train_data={}", "train.train_data: path is missing"},
        Case{"train.train_data.custom_dataset={name: 'some_examples'}",
             "train.train_data.custom_dataset: gives the examples; remove path"},
        Case{"train.train_data={custom_dataset {name: 'some_examples'} format: CSV}",
             "custom_dataset: gives the examples; remove format"},
        Case{"train.train_data={custom_dataset {name: 'some_examples'} windows {}}",
             "custom_dataset: gives the examples; remove windows"},
        Case{"train.train_data={custom_dataset {name: 'some_examples'} mix {}}",
             "custom_dataset: gives the examples; remove mix"},
        Case{"train.train_data={custom_dataset {name: 'some_exampels'}}",
             "train.train_data.custom_dataset: "},
        Case{"train.train_data={custom_dataset {name: 'some_examples'} batch_size: 0}",
             "train.train_data: batch_size is 0"},
        Case{"train.train_data.path=", "train.train_data.path[0]: is empty"},
        Case{"train.train_data.batch_size=0",
             "train.train_data: batch_size is 0; must be at least 1"},
        Case{"train.train_data.split={from: 0.5 to: 0.2}",
             "train.train_data.split: from 0.5 to 0.2"},
        Case{"train.train_data.split={to: 1.5}", "both must be 0 to 1"},
        Case{"train.train_data.split={from: -0.1}", "both must be 0 to 1"},
        Case{"train.train_data.split={by: HASH_OF_COLUMN}", "by HASH_OF_COLUMN needs a column"},
        Case{"train.train_data.split={by: ORDER_OF_COLUMN to: 99}", "needs a column"},
        Case{"train.train_data.split={column: 'x'}", "by HASH_OF_EXAMPLE takes no column"},
        Case{"train.train_data.csv={delimiter: ''}", "train.train_data.csv: delimiter is \"\""},
        Case{"train.train_data.csv={delimiter: ',,'}", "must be one character"},
        Case{"train.train_data.csv={list_delimiter: ',,'}", "list_delimiter is \",,\""},
        Case{"train.train_data.csv={list_delimiter: ',' literal_quotes: true}",
             "with literal_quotes they must differ"},
        Case{"train.train_data.csv={column: ['a', 'a']}", "column[1] \"a\": the name is taken"},
        Case{"train.train_data.csv={column: ''}", "column[0]: is empty"},
        Case{"train.train_data.csv={header: TYPED list_delimiter: ' '}", "a TYPED header says"},
        Case{"train.train_data.csv={header: TYPED hexadecimal: 'a'}", "a TYPED header says"},
        Case{"train.train_data={path: 'x' format: ORC csv {}}", "format is ORC"},
        Case{"train.train_data={path: 'x' format: ORC tfrecord {}}", "for TFRECORD, but format is"},
        Case{"train.train_data={path: 'x' format: ORC libsvm {}}", "for LIBSVM, but format is ORC"},
        Case{"train.train_data.libsvm={fields: 5000}", "fields is 5000; must be 0 to 4096"},
        Case{"train.train_data.tfrecord={column {}}", "column[0]: name is missing"},
        Case{"train.train_data.tfrecord={column {name: 'a'} column {name: 'a'}}", "is taken"},
        Case{"train.train_data.max_bad_fraction=1.5", "max_bad_fraction is 1.5; must be 0 to 1"},
        Case{"train.eval_data[0].name=late", "train.eval_data[1] \"late\": the name is taken"},
        Case{"train.eval_data[0].name=", "train.eval_data[0]: name is missing"},
        Case{"train.eval_data[0].name=a/b", "letters, digits, _ and - only"},
        Case{"train.eval_data[1].data={}", "train.eval_data[1] \"late\".data: path is missing"},
        Case{"train.eval_data[1].data.batch_size=-3", "\"late\".data: batch_size is -3"}));

INSTANTIATE_TEST_SUITE_P(
    CadencesOfSets, InvalidTest,
    testing::Values(
        Case{"run.evaluation.set={name: 'lat' when {}}",
             "run.evaluation.set[0] \"lat\": no evaluation set has this name; did you mean "
             "\"late\"?"},
        Case{"run.evaluation.set={when {}}", "run.evaluation.set[0]: name is missing"},
        Case{"run.evaluation.set={name: 'late'}",
             "run.evaluation.set[0] \"late\": when is missing"},
        Case{"run.evaluation.set=[{name: 'late' when {}}, {name: 'late' when {}}]",
             "run.evaluation.set[1] \"late\": the name is taken"},
        Case{"run.evaluation.set=[{name: 'x' when {}}, {name: 'late' when {every_steps: -1}}]",
             "run.evaluation.set[1] \"late\".when: every_steps is -1"}));

INSTANTIATE_TEST_SUITE_P(GeneratedData, InvalidTest,
                         testing::Values(Case{"train.generated_data={}",
                                              "train.generated_data: directory is missing"},
                                         Case{"train.generated_data={directory: 'x' rows: 0}",
                                              "rows is 0; must be at least 1"}));

INSTANTIATE_TEST_SUITE_P(
    Features, InvalidTest,
    testing::Values(
        Case{"train.feature[0].kind=DENSE", "train: no feature is of kind LABEL"},
        Case{"train.feature[1].name=", "train.feature[1]: name is missing"},
        Case{"train.feature[1].name=i{1..}", "name holds a brace; a range is written {1..26}"},
        Case{"train.feature[1].column={}", "column is \"{}\""},
        Case{"train.feature[4].name=c1", "train.feature[4] \"c1\": the name is taken"},
        Case{"train.feature[4].table=c9",
             "train.feature[4] \"c2\": no table \"c9\"; known: c1, c2"},
        Case{"train.feature[4].table=users", "no table \"users\"; known: c1, c2, c3, c4"},
        Case{"train.feature[1].table=c1", "table is set, but a DENSE feature looks up none"},
        Case{"train.feature[1].pooling=MEAN", "pooling is chosen, but a DENSE feature has none"},
        Case{"train.feature[1].max_ids=2", "max_ids is set, but a DENSE feature has no lists"},
        Case{"train.feature[4].max_ids=-1", "max_ids is -1, below 0"},
        Case{"train.feature[4].pooling=FIRST_N",
             "train.feature[4] \"c2\": max_ids is 0; with pooling FIRST_N"},
        Case{"train.feature[4]={name: 'c2' table: 'c2' pooling: FIRST_N max_ids: 4097}",
             "max_ids is 4097; with pooling FIRST_N"},
        Case{"train.feature[3].default_value=1", "holds ids; write default_id"},
        Case{"train.feature[0].default_id=1", "holds numbers; write default_value"},
        Case{"train.feature=[{name: 'l' kind: LABEL}, {name: 'a' kind: WEIGHT}, "
             "{name: 'b' kind: WEIGHT}]",
             "train.feature[2] \"b\": there is a feature of kind WEIGHT before it"},
        Case{"train.feature[3].transform[1].modulo.divisor=0",
             "train.feature[3] \"c1\".transform[1].modulo: divisor is 0; must be at least 1"},
        Case{"train.feature[3].transform[0]={}", "says not which transform"},
        Case{"train.feature[3].transform[0]={hash {function: FARM_HASH seed: 3}}", "takes no seed"},
        Case{"train.feature[1].transform[0]={clip {min: 2 max: 1}}", "min 2 is above max 1"},
        Case{"train.feature[1].transform[0]={threshold {}}", "threshold: at_least is missing"},
        Case{"train.feature[3].transform[0]={multi_hash {}}", "multi_hash: divisor is 0; must be"},
        Case{"train.feature[3].transform[0]={multi_hash {divisor: 9 function: FARM_HASH}}",
             "takes no seed"},
        Case{"train.feature[3].transform[0]={cross {}}", "cross: feature is missing"},
        Case{"train.feature[3].transform[0]={cross {feature: 'none'}}",
             "no sparse feature \"none\""},
        Case{"train.feature[3].transform[0]={vocabulary {}}", "vocabulary: path is missing"},
        Case{"train.feature[1].transform[0]={unique {}}", "is for lists of ids"},
        Case{"train.feature[1].weight_column='w'", "weight_column is set"},
        Case{"train.feature[1].transform[0]={bucketize {}}", "boundary is missing"},
        Case{"train.feature[1].transform[0]={bucketize {boundary: [1, 2, 2]}}",
             "bucketize: boundary[2] is 2 after 2; must increase strictly"}));

INSTANTIATE_TEST_SUITE_P(
    Tables, InvalidTest,
    testing::Values(
        Case{"train.table[3].dim=0", "train.table[3] \"c4\": dim is 0; must be 1 to 4096"},
        Case{"train.table[3].name=c1", "train.table[3] \"c1\": the name is taken"},
        Case{"train.table[3].name=", "train.table[3]: name is missing"},
        Case{"train.table[3].name=../x", "letters, digits, _ and - only"},
        Case{"train.table[0].initializer={uniform {low: 1 high: 0}}",
             "train.table[0] \"c1\".initializer.uniform: low 1 is above high 0"},
        Case{"train.table[0].optimizer={learning_rate: -1}",
             "train.table[0] \"c1\".optimizer: learning_rate is -1"},
        Case{"train.table[1].admission={count {min_count: 0}}",
             "train.table[1] \"c2\".admission.count: min_count is 0; must be 1 to 2147483647"},
        Case{"train.table[1].default_value={constant {value: inf}}", "default_value.constant"},
        Case{"train.table[1].eviction={}", "train.table[1] \"c2\".eviction: says not what"},
        Case{"train.table[1].limit={max_rows: -1}", "\"c2\".limit: max_rows is -1"},
        Case{"train.table[1].eviction={idle_steps: 5}",
             "train.table[1] \"c2\": eviction is given, but train.hooks has no hook evict_rows"},
        Case{"run.hooks=[{name: 'evict_rows'}]", "run.hooks: evict_rows changes the result"}));

INSTANTIATE_TEST_SUITE_P(
    Optimizers, InvalidTest,
    testing::Values(
        Case{"train.optimizer.learning_rate=-0.1",
             "train.optimizer: learning_rate is -0.1; must be at least 0 and finite"},
        Case{"train.optimizer={frozen: true adam {}}", "a kind would do nothing"},
        Case{"train.optimizer={frozen: true schedule {constant {}}}", "schedule would do nothing"},
        Case{"train.optimizer={schedule {unit: EPOCHS reduce_on_plateau {monitor: 'eval/loss'}}}",
             "train.optimizer.schedule.reduce_on_plateau: unit does nothing"},
        Case{"run.evaluation.when={every_windows: 2}",
             "run.evaluation.when: every_windows needs train_data.windows"},
        Case{"train.optimizer={schedule {reduce_on_plateau {monitor: 'eval/loss' min_rate: 0.01}}}",
             "min_rate is 0.01"},
        Case{"train.precision={compute: FLOAT16 loss_scale {min: 0}}",
             "train.precision.loss_scale: min is 0"},
        Case{"train.optimizer={sgd {nesterov: true}}", "nesterov needs a momentum"},
        Case{"train.optimizer={adam {beta1: 1}}", "beta1 is 1; must be at least 0 and below 1"},
        Case{"train.more_optimizers=[{pattern: 'x'}, {learning_rate: -1}]",
             "train.more_optimizers[1]: learning_rate is -1"},
        Case{"train.sparse_optimizer.learning_rate=-1",
             "train.sparse_optimizer: learning_rate is -1"},
        Case{"train.sparse_optimizer={rowwise_adagrad {initial_accumulator: -2}}",
             "rowwise_adagrad: initial_accumulator is -2"}));

INSTANTIATE_TEST_SUITE_P(
    HooksAndRun, InvalidTest,
    testing::Values(
        Case{"train.model.name=", "train.model: name is missing"},
        Case{"train.hooks[0].name=", "train.hooks[0]: name is missing"},
        Case{"run.hooks[0].name=a", "run.hooks[0] \"a\": the name is taken"},
        Case{"train.hooks=[{name: 'x'}, {name: 'x'}]", "train.hooks[1] \"x\": the name is taken"},
        Case{"run.output_dir=", "run: output_dir is empty"},
        Case{"run.threads=1025", "run: threads is 1025; must be 0 to 1024"},
        Case{"run.read.reader_threads=0", "run.read: reader_threads is 0; must be 1 to 1024"},
        Case{"train.feature[1].name=i{1..1001}_{1..1000}", "at most 1000000 entries"},
        Case{"run.report.when.every_steps=-1", "run.report.when: every_steps is -1"},
        Case{"run.report.when.at_start=true", "nothing to report at the start"},
        Case{"run.evaluation.when.every_epochs=-1", "run.evaluation.when: every_epochs is -1"}));

INSTANTIATE_TEST_SUITE_P(
    Distributed, InvalidTest,
    testing::Values(
        Case{"run.distributed.rendezvous_timeout_seconds=0.5",
             "run.distributed: rendezvous_timeout_seconds is 0.5; must be at least 1 and finite"},
        Case{"run.distributed.data_timeout_seconds=nan",
             "run.distributed: data_timeout_seconds is not a number"},
        Case{"run.distributed.poll_interval_seconds=0",
             "run.distributed: poll_interval_seconds is 0; must be above 0 and finite"},
        Case{"run.health.step_seconds=-1",
             "run.health: step_seconds is -1; must be at least 0 and finite"}));

INSTANTIATE_TEST_SUITE_P(
    NotANumber, InvalidTest,
    testing::Values(
        Case{"train.max_seconds=nan", "train: max_seconds is not a number"},
        Case{"train.train_data.path=[\"s3://KEY:SECRET@bucket/a.csv\"]",
             "train.train_data: path[0]: a URI s3://USER:PASSWORD@BUCKET has its password"},
        Case{"train.optimizer={adam {beta1: nan}}", "train.optimizer.adam: beta1 is not a number"},
        Case{"train.feature[1].default_value=nan",
             "train.feature[1]: default_value is not a number"},
        Case{"train.feature[1].transform[0]={bucketize {boundary: [1, nan]}}",
             "train.feature[1].transform[0].bucketize: boundary[1] is not a number"},
        Case{"train.feature[1].transform[0]={clip {max: nan}}", "clip: max is not a number"},
        Case{"train.feature[1].transform[0]={threshold {at_least: nan}}",
             "at_least is not a number"},
        Case{"train.train_data.split={from: nan}", "split: from is not a number"},
        Case{"train.model.[millrace.deepfm].dropout=nan",
             "train.model.[millrace.deepfm]: dropout is not a number"}));

TEST(ValidateTest, ASetInWindowsHasNoCadence) {
  JobConfig config = valid();
  ASSERT_OK(apply_override("train.train_data={windows {directory {path: 'in'}}}", &config));
  ASSERT_OK(apply_override("train.eval_data[1].data={windows {directory {path: 'x'}}}", &config));
  ASSERT_OK(apply_override("run.evaluation.set={name: 'eval' when {every_windows: 2}}", &config));
  EXPECT_OK(validate(config));
  ASSERT_OK(apply_override("run.evaluation.set={name: 'late' when {every_windows: 2}}", &config));
  EXPECT_THAT(validate(config),
              StatusIs(kInvalid, HasSubstr("run.evaluation.set[0] \"late\": the set comes in "
                                           "windows, of which one is evaluated after each")));
}

TEST(ValidateTest, EmptyJobsSayAllThatIsMissing) {
  EXPECT_THAT(validate(JobConfig()),
              StatusIs(kInvalid,
                       "train.train_data: path is missing; at least one is needed\n"
                       "train: no feature is of kind LABEL; at least one is needed\n"
                       "train.model: name is missing"));
}

TEST(ValidateTest, GeneratedDataStandsInForPaths) {
  JobConfig config = valid();
  ASSERT_OK(apply_override("train.generated_data={directory: 'x'}", &config));
  ASSERT_OK(apply_override("train.train_data.path=[]", &config));
  ASSERT_OK(apply_override("train.eval_data[0].data.path=[]", &config));
  EXPECT_OK(validate(config));
  ASSERT_OK(apply_override("train.generated_data.eval_rows=0", &config));
  EXPECT_THAT(validate(config), StatusIs(kInvalid, HasSubstr("\"eval\".data: path is missing")));
}

TEST(ValidateTest, LimitsOfWhatIsAllowed) {
  for (const char* allowed :
       {"train.table[0].dim=1", "train.table[0].dim=4096", "train.optimizer.learning_rate=0",
        "train.optimizer={adam {beta1: 0 beta2: 0}}", "train.max_epochs=0", "run.threads=0",
        "train.train_data.split={from: 0.5 to: 0.5}", "train.train_data.csv={delimiter: '\\t'}",
        "train.train_data.split={by: ORDER_OF_COLUMN column: 't' from: -5 to: 1000}",
        "train.feature[1].transform[0]={clip {min: 1 max: 1}}",
        "train.feature[1].transform[0]={threshold {at_least: -2.5}}",
        "train.feature[4].transform[0]={cross {feature: 'c1'}}",
        "train.train_data.csv={header: TYPED delimiter: '\\t'}",
        "train.train_data={path: 'x' format: TFRECORD tfrecord {column {name: 'a'}}}",
        "train.train_data={path: 'x.libsvm' libsvm {fields: 4096} bad_data: SKIP}",
        "train.eval_data=[]", "run.distributed.collective_timeout_seconds=1",
        "run.distributed.poll_interval_seconds=0.001"}) {
    JobConfig config = valid();
    ASSERT_OK(apply_override(allowed, &config));
    EXPECT_OK(validate(config)) << allowed;
  }
}

TEST(ConfigCheckTest, TablesThatNoFeatureUsesAreWarnedOf) {
  JobConfig config = valid();
  EXPECT_THAT(config_warnings(config.train()), testing::IsEmpty());
  const std::string name = config.train().table(0).name();
  *config.mutable_train()->add_table() = config.train().table(0);
  config.mutable_train()->mutable_table(config.train().table_size() - 1)->set_name(name + "x");
  EXPECT_OK(validate(config));
  EXPECT_THAT(config_warnings(config.train()),
              testing::ElementsAre(testing::HasSubstr(
                  "\"" + name + "x\": no feature uses the table; did you mean \"" + name)));
}

}  // namespace
}  // namespace millrace
