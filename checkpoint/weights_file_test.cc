#include "checkpoint/weights_file.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/fault_file_system.h"
#include "base/hash.h"
#include "base/status_matchers.h"
#include "checkpoint/safetensors_reader.h"
#include "checkpoint/safetensors_writer.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
constexpr absl::StatusCode kDataLoss = absl::StatusCode::kDataLoss;

std::unique_ptr<EmbeddingTable> make_table(const std::string& name, int64_t dim, uint64_t seed) {
  EmbeddingTableOptions options;
  options.name = name;
  options.dim = dim;
  options.seed = seed;
  options.initializer.mutable_uniform();
  auto table = EmbeddingTable::create(options);
  EXPECT_OK(table);
  return *std::move(table);
}

void insert(EmbeddingTable& table, const std::vector<int64_t>& ids) {
  std::vector<RowIndex> rows(ids.size());
  ASSERT_OK(table.find_or_insert(ids, absl::MakeSpan(rows)));
  table.see(1, rows, std::vector<uint32_t>(ids.size(), 1));
  table.commit(1);
}

std::vector<float> row_of(const EmbeddingTable& table, int64_t id) {
  RowIndex row = kNoRow;
  table.find({&id, 1}, {&row, 1});
  if (row == kNoRow) return {};
  const float* weights = table.store().weights(row);
  return std::vector<float>(weights, weights + table.dim());
}

// A small model: dense tensors of several types and two tables.
struct TestModel {
  explicit TestModel(uint64_t seed)
      : a(make_table("a", 3, seed)),
        b(make_table("b", 2, seed)),
        dense(
            {{"fc.weight", at::arange(scalar(seed), scalar(seed) + 6, at::kFloat).reshape({2, 3})},
             {"fc.bias", at::full({2}, scalar(seed), at::kDouble)},
             {"steps", at::full({}, static_cast<int64_t>(seed), at::kLong)},
             {"half", at::full({3}, 0.5 * scalar(seed), at::kHalf)},
             {"mask", at::ones({4}, at::kBool)}}) {
    dense[0].value.set_requires_grad(true);
  }
  static double scalar(uint64_t seed) { return static_cast<double>(seed); }
  std::vector<const EmbeddingTable*> tables() const { return {a.get(), b.get()}; }
  std::vector<EmbeddingTable*> mutable_tables() { return {a.get(), b.get()}; }

  std::unique_ptr<EmbeddingTable> a, b;
  std::vector<NamedParameter> dense;
};

class WeightsFileTest : public testing::Test {
 protected:
  WeightsFileTest() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = join_path(testing::TempDir(), std::string("weights_file_") + test->name());
    insert(*saved_.a, {5, -7, 0, 1LL << 60});
    insert(*saved_.b, {42});
    insert(*loaded_.a, {5, 99});
    info_.progress.step = 12;
    info_.progress.examples = 3400;
    info_.metadata["job"] = "test";
  }
  absl::Status save() { return save_weights(files_, path_, saved_.dense, saved_.tables(), info_); }
  absl::StatusOr<WeightsInfo> load() {
    return load_weights(files_, path_, loaded_.dense, loaded_.mutable_tables());
  }
  // Loading fails so and changes nothing.
  void expect_no_load(absl::StatusCode code, const std::string& message) {
    const absl::uint128 a = loaded_.a->content_digest(), b = loaded_.b->content_digest();
    std::vector<at::Tensor> before;
    for (const NamedParameter& tensor : loaded_.dense) before.push_back(tensor.value.clone());
    EXPECT_THAT(load(), StatusIs(code, AllOf(HasSubstr(path_), HasSubstr(message))));
    EXPECT_EQ(loaded_.a->content_digest(), a);
    EXPECT_EQ(loaded_.b->content_digest(), b);
    for (size_t i = 0; i < before.size(); ++i) {
      EXPECT_TRUE(at::equal(loaded_.dense[i].value, before[i])) << loaded_.dense[i].name;
    }
  }
  // The saved file again, with one part of its description changed.
  void rewrite(const std::function<void(std::vector<TensorSource>*,
                                        std::map<std::string, std::string>*)>& change) {
    ASSERT_OK_AND_ASSIGN(auto reader, SafetensorsReader::open(files_, path_));
    std::vector<TensorSource> sources;
    std::vector<std::vector<char>> bytes;
    bytes.reserve(reader->tensors().size());
    for (const TensorInfo& info : reader->tensors()) {
      bytes.emplace_back(info.size_bytes());
      ASSERT_OK(reader->read_bytes(info, absl::MakeSpan(bytes.back())));
      sources.push_back(tensor_from_memory(info.name, info.type, info.shape, bytes.back().data()));
    }
    std::map<std::string, std::string> metadata = reader->metadata();
    change(&sources, &metadata);
    ASSERT_OK(write_safetensors(files_, path_, sources, metadata));
  }

  FileSystem& files_ = FileSystem::local();
  std::string path_;
  TestModel saved_{3}, loaded_{8};
  WeightsInfo info_;
};

TEST_F(WeightsFileTest, RoundTrip) {
  ASSERT_OK(save());
  ASSERT_OK_AND_ASSIGN(const WeightsInfo info, load());
  EXPECT_EQ(info.progress, info_.progress);
  EXPECT_EQ(info.metadata, info_.metadata);
  for (size_t i = 0; i < saved_.dense.size(); ++i) {
    EXPECT_TRUE(at::equal(loaded_.dense[i].value, saved_.dense[i].value)) << saved_.dense[i].name;
  }
  EXPECT_TRUE(loaded_.dense[0].value.requires_grad());
  EXPECT_TRUE(loaded_.dense[0].value.is_leaf());
  for (const int64_t id : {5LL, -7LL, 0LL, 1LL << 60}) {
    EXPECT_EQ(row_of(*loaded_.a, id), row_of(*saved_.a, id)) << id;
  }
  EXPECT_EQ(loaded_.a->statistics().rows, 4) << "rows that the file lacks are gone";
  EXPECT_EQ(row_of(*loaded_.b, 42), row_of(*saved_.b, 42));
}

TEST_F(WeightsFileTest, EmptyTablesAndNoTables) {
  saved_.a->reset();
  saved_.b->reset();
  ASSERT_OK(save());
  ASSERT_OK(load());
  EXPECT_EQ(loaded_.a->statistics().rows, 0);
  ASSERT_OK(save_weights(files_, path_, {}, {}, {}));
  EXPECT_OK(load_weights(files_, path_, {}, {}));
}

TEST_F(WeightsFileTest, ManyRowsComeInPlacementOrder) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < 200'000; ++i) ids.push_back(i * 977);
  insert(*saved_.a, ids);
  ASSERT_OK(save());
  ASSERT_OK_AND_ASSIGN(auto reader, SafetensorsReader::open(files_, path_));
  ASSERT_OK_AND_ASSIGN(const TensorInfo* info, reader->find("table/a/ids"));
  std::vector<int64_t> stored(info->shape[0]);
  ASSERT_OK(reader->read(*info, absl::MakeSpan(stored)));
  EXPECT_TRUE(std::is_sorted(stored.begin(), stored.end(), [](int64_t x, int64_t y) {
    return placement_hash(x) < placement_hash(y);
  }));
  ASSERT_OK(load());
  EXPECT_EQ(row_of(*loaded_.a, 977 * 12345), row_of(*saved_.a, 977 * 12345));
  EXPECT_EQ(loaded_.a->statistics().rows, saved_.a->statistics().rows);
}

TEST_F(WeightsFileTest, BytesDoNotDependOnTheOrderOfAnything) {
  ASSERT_OK(save());
  ASSERT_OK_AND_ASSIGN(const std::string first, read_file(files_, path_));
  TestModel other(3);
  insert(*other.b, {42});
  insert(*other.a, {1LL << 60});
  insert(*other.a, {0, -7, 5});
  std::reverse(other.dense.begin(), other.dense.end());
  info_.progress.elapsed = absl::Seconds(99);
  ASSERT_OK(save_weights(files_, path_, other.dense, {other.b.get(), other.a.get()}, info_));
  EXPECT_THAT(read_file(files_, path_), IsOkAndHolds(first));
}

TEST_F(WeightsFileTest, ViewsOfTensorsAreSavedAndLoaded) {
  const at::Tensor saved = at::arange(6, at::kFloat).reshape({2, 3}).t();
  ASSERT_OK(save_weights(files_, path_, {{"t", saved}}, {}, {}));
  const at::Tensor base = at::zeros({2, 3});
  ASSERT_OK(load_weights(files_, path_, {{"t", base.t()}}, {}));
  EXPECT_TRUE(at::equal(base, at::arange(6, at::kFloat).reshape({2, 3})));
}

TEST_F(WeightsFileTest, BadArgumentsSaveNothing) {
  const at::Tensor x = at::zeros({1});
  auto save_dense = [&](const std::vector<NamedParameter>& dense) {
    return save_weights(files_, path_, dense, {}, {});
  };
  EXPECT_THAT(save_dense({{"x", x}, {"x", x}}), StatusIs(kInvalid, HasSubstr("comes twice")));
  EXPECT_THAT(save_dense({{"table/x", x}}), StatusIs(kInvalid, HasSubstr("is for tables")));
  EXPECT_THAT(save_dense({{"", x}}), StatusIs(kInvalid));
  EXPECT_THAT(save_dense({{"x", at::Tensor()}}), StatusIs(kInvalid, HasSubstr("undefined")));
  EXPECT_THAT(save_dense({{"x", at::zeros({1}, at::kComplexFloat)}}),
              StatusIs(kInvalid, HasSubstr("no such element type")));
  EXPECT_THAT(save_weights(files_, path_, {}, {saved_.a.get(), saved_.a.get()}, {}),
              StatusIs(kInvalid, HasSubstr("comes twice")));
  info_.metadata["millrace.mine"] = "x";
  EXPECT_THAT(save(), StatusIs(kInvalid, HasSubstr("reserved")));
  EXPECT_THAT(files_.info(path_), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(WeightsFileTest, InsideAStepNothingIsSavedOrLoaded) {
  ASSERT_OK(save());
  const int64_t id = 1234;
  RowIndex row;
  ASSERT_OK(saved_.a->find_or_insert({&id, 1}, {&row, 1}));
  EXPECT_THAT(save(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("table a")));
  ASSERT_OK(loaded_.a->find_or_insert({&id, 1}, {&row, 1}));
  EXPECT_THAT(load(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("table a")));
  loaded_.a->discard();
  EXPECT_OK(load());
}

TEST_F(WeightsFileTest, MissingFile) { expect_no_load(absl::StatusCode::kNotFound, ""); }

TEST_F(WeightsFileTest, NamesMustBeTheSame) {
  ASSERT_OK(save());
  loaded_.dense[0].name = "fc.weights";
  expect_no_load(kInvalid, "no tensor \"fc.weights\"; did you mean \"fc.weight\"?");
  loaded_.dense[0].name = "fc.weight";
  loaded_.dense.pop_back();
  expect_no_load(kInvalid, "tensor \"mask\" is not in the model");
}

TEST_F(WeightsFileTest, TablesMustBeTheSame) {
  ASSERT_OK(save());
  EXPECT_THAT(load_weights(files_, path_, loaded_.dense, {loaded_.a.get()}),
              StatusIs(kInvalid, HasSubstr("tensor \"table/b/ids\" is not in the model")));
  auto c = make_table("c", 2, 1);
  EXPECT_THAT(
      load_weights(files_, path_, loaded_.dense, {loaded_.a.get(), loaded_.b.get(), c.get()}),
      StatusIs(kInvalid, HasSubstr("no tensor \"table/c/ids\"; did you mean")));
  loaded_.b = make_table("b", 4, 1);
  expect_no_load(kInvalid, "tensor \"table/b/weights\" is F32 [1, 2]; the model has F32 [1, 4]");
}

TEST_F(WeightsFileTest, ShapesAndTypesMustBeTheSame) {
  ASSERT_OK(save());
  loaded_.dense[0].value = at::zeros({3, 2});
  expect_no_load(kInvalid, "tensor \"fc.weight\" is F32 [2, 3]; the model has F32 [3, 2]");
  loaded_.dense[0].value = at::zeros({2, 3}, at::kDouble);
  expect_no_load(kInvalid, "the model has F64 [2, 3]");
}

TEST_F(WeightsFileTest, IdsMustBeDistinctAndInOrder) {
  ASSERT_OK(save());
  rewrite([](auto* sources, auto*) {
    static const int64_t kTwice[] = {42, 42};
    static const float kWeights[] = {1, 2, 3, 4};
    for (TensorSource& source : *sources) {
      if (source.name == "table/b/ids") {
        source = tensor_from_memory(source.name, TensorType::kI64, {2}, kTwice);
      } else if (source.name == "table/b/weights") {
        source = tensor_from_memory(source.name, TensorType::kF32, {2, 2}, kWeights);
      }
    }
  });
  expect_no_load(kDataLoss, "tensor \"table/b/ids\": id 42 at 1 is not in the order");
}

TEST_F(WeightsFileTest, IdsMustBeAListOfIntegers) {
  ASSERT_OK(save());
  rewrite([](auto* sources, auto*) {
    static const double kNumber[] = {42};
    for (TensorSource& source : *sources) {
      if (source.name != "table/b/ids") continue;
      source = tensor_from_memory(source.name, TensorType::kF64, {1}, kNumber);
    }
  });
  expect_no_load(kInvalid, "tensor \"table/b/ids\" is F64 [1]");
}

TEST_F(WeightsFileTest, OtherSafetensorsFilesAreNotWeightsFiles) {
  ASSERT_OK(save());
  rewrite([](auto*, auto* metadata) { (*metadata)["millrace.format"] = "weights 2"; });
  expect_no_load(kInvalid, "metadata \"millrace.format\" is \"weights 2\"");
  ASSERT_OK(save());
  rewrite([](auto*, auto* metadata) { (*metadata)["millrace.progress"] = "{\"step\":-1}"; });
  expect_no_load(kDataLoss, "\"millrace.progress\" lacks step");
  rewrite([](auto*, auto* metadata) { (*metadata)["millrace.progress"] = "[[["; });
  expect_no_load(kDataLoss, "\"millrace.progress\" lacks step");
}

TEST_F(WeightsFileTest, TruncatedAnywhereChangesNothing) {
  ASSERT_OK(save());
  ASSERT_OK_AND_ASSIGN(const std::string good, read_file(files_, path_));
  for (size_t length = 0; length < good.size(); ++length) {
    ASSERT_OK(write_file_atomically(files_, path_, absl::string_view(good).substr(0, length)));
    expect_no_load(kDataLoss, "");
  }
}

TEST_F(WeightsFileTest, ReadErrorsChangeNothing) {
  ASSERT_OK(save());
  const absl::uint128 before = loaded_.a->content_digest();
  for (int64_t n = 0;; ++n) {
    FaultFileSystem faulty(files_);
    faulty.fail(n, 1, absl::UnavailableError("injected"));
    const auto info = load_weights(faulty, path_, loaded_.dense, loaded_.mutable_tables());
    if (faulty.calls() <= n) {
      EXPECT_OK(info);
      break;
    }
    EXPECT_THAT(info, StatusIs(absl::StatusCode::kUnavailable)) << n;
    EXPECT_EQ(loaded_.a->content_digest(), before) << n;
    EXPECT_EQ(loaded_.dense[2].value.item<int64_t>(), 8) << n;
  }
}

}  // namespace
}  // namespace millrace
