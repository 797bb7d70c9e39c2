#include "io/kafka/kafka_payload_conformance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "io/file_format_conformance.h"

namespace millrace {
namespace {

using Values = std::vector<absl::string_view>;

Values views(const std::vector<std::string>& values) { return {values.begin(), values.end()}; }

// A payload after columns(), with requests for all that it supports.
struct Subject {
  explicit Subject(const KafkaPayloadConformance& c) : payload(c.make()) {
    const auto described = payload->columns(samples(c));
    EXPECT_OK(described.status());
    columns = described.value_or(std::vector<FileColumn>());
    for (size_t i = 0; i < columns.size(); ++i) {
      if (!columns[i].supported) continue;
      const ValueType type =
          columns[i].type == ValueType::kText ? ValueType::kString : columns[i].type;
      requests.push_back({static_cast<int64_t>(i), type});
    }
  }
  static Values samples(const KafkaPayloadConformance& c) {
    return c.make()->describes_itself() ? views(c.good) : Values();
  }
  // Returns the rows, without a bad value.
  KafkaRows decode(const Values& values, const std::vector<ColumnRequest>& asked) {
    const auto rows = payload->decode(values, asked, [](int64_t record, int64_t, auto why) {
      ADD_FAILURE() << "record " << record << " is bad: " << why;
      return absl::OkStatus();
    });
    EXPECT_OK(rows.status());
    return rows.value_or(KafkaRows());
  }

  std::unique_ptr<KafkaPayload> payload;
  std::vector<FileColumn> columns;
  std::vector<ColumnRequest> requests;
};

int64_t count_rows(const KafkaRows& rows) {
  return std::accumulate(rows.records.begin(), rows.records.end(), int64_t{0});
}

// Returns the rows [begin, end) of a column as text.
std::string text_of(const Column& column, int64_t begin, int64_t end) {
  std::string text;
  for (int64_t row = begin; row < end; ++row) {
    absl::StrAppend(&text, "[", text_of_row(column, row), "]");
  }
  return text;
}

void check_columns(const KafkaPayloadConformance& c) {
  Subject subject(c);
  std::set<std::string> names;
  for (const FileColumn& column : subject.columns) names.insert(column.name);
  EXPECT_EQ(names.size(), subject.columns.size());
  ASSERT_FALSE(subject.requests.empty());
  Values samples = Subject::samples(c);
  if (!samples.empty()) {
    samples.insert(samples.begin(), c.bad.begin(), c.bad.end());
    EXPECT_FALSE(c.make()->columns({""}).ok()) << "a bad record alone";
  }
  const auto again = subject.payload->columns(samples);
  ASSERT_OK(again.status());
  ASSERT_EQ(again->size(), subject.columns.size());
  for (size_t i = 0; i < again->size(); ++i) {
    EXPECT_EQ((*again)[i].name, subject.columns[i].name);
    EXPECT_EQ((*again)[i].type, subject.columns[i].type);
  }
}

void check_together(const KafkaPayloadConformance& c) {
  Subject subject(c);
  ASSERT_GE(c.good.size(), 2u);
  const KafkaRows all = subject.decode(views(c.good), subject.requests);
  ASSERT_EQ(all.records.size(), c.good.size());
  ASSERT_EQ(all.columns.size(), subject.requests.size());
  int64_t begin = 0;
  std::set<std::string> different;
  for (size_t i = 0; i < c.good.size(); ++i) {
    const KafkaRows one = subject.decode({c.good[i]}, subject.requests);
    const int64_t end = begin + all.records[i];
    EXPECT_GT(all.records[i], 0) << i;
    std::string rows;
    for (size_t k = 0; k < all.columns.size(); ++k) {
      EXPECT_EQ(all.columns[k].type, read_type(subject.requests[k].as));
      EXPECT_EQ(all.columns[k].rows, count_rows(all));
      rows += text_of(all.columns[k], begin, end);
      EXPECT_EQ(text_of(all.columns[k], begin, end),
                text_of(one.columns[k], 0, one.columns[k].rows));
    }
    different.insert(rows);
    begin = end;
  }
  EXPECT_EQ(different.size(), c.good.size()) << "the values must have different rows";
}

void check_requests(const KafkaPayloadConformance& c) {
  Subject subject(c);
  const KafkaRows all = subject.decode(views(c.good), subject.requests);
  EXPECT_EQ(subject.decode(views(c.good), {}).records, all.records) << "without requests";
  std::vector<ColumnRequest> backwards(subject.requests.rbegin(), subject.requests.rend());
  const KafkaRows reversed = subject.decode(views(c.good), backwards);
  for (size_t k = 0; k < all.columns.size(); ++k) {
    const int64_t rows = count_rows(all);
    const std::string text = text_of(all.columns[k], 0, rows);
    EXPECT_EQ(text_of(reversed.columns[all.columns.size() - 1 - k], 0, rows), text);
    EXPECT_EQ(text_of(subject.decode(views(c.good), {subject.requests[k]}).columns[0], 0, rows),
              text);
  }
}

void check_bad(const KafkaPayloadConformance& c) {
  Subject subject(c);
  ASSERT_FALSE(c.bad.empty());
  for (const std::string& bad : c.bad) {
    const Values values = {c.good[0], bad, c.good[1]};
    const KafkaRows good = subject.decode({c.good[0], c.good[1]}, subject.requests);
    int reports = 0;
    bool is_whole = false;
    const auto rows = subject.payload->decode(values, subject.requests,
                                              [&](int64_t record, int64_t row, auto why) {
                                                EXPECT_EQ(record, 1) << why;
                                                is_whole = row < 0;
                                                EXPECT_FALSE(why.empty());
                                                ++reports;
                                                return absl::OkStatus();
                                              });
    ASSERT_OK(rows.status()) << absl::CHexEscape(bad);
    EXPECT_EQ(reports, 1) << absl::CHexEscape(bad);
    ASSERT_EQ(rows->records.size(), 3u);
    EXPECT_TRUE(!is_whole || rows->records[1] == 0) << "a bad record has no rows";
    EXPECT_EQ(rows->records[0], good.records[0]);
    EXPECT_EQ(rows->records[2], good.records[1]);
    const int64_t end = count_rows(*rows), after = end - good.records[1];
    for (size_t k = 0; k < rows->columns.size(); ++k) {
      EXPECT_EQ(
          text_of(rows->columns[k], 0, good.records[0]) + text_of(rows->columns[k], after, end),
          text_of(good.columns[k], 0, count_rows(good)));
    }
    const auto strict = subject.payload->decode(
        values, subject.requests, [](auto, auto, auto) { return absl::DataLossError("strict"); });
    EXPECT_THAT(strict.status(), StatusIs(absl::StatusCode::kDataLoss, "strict"));
  }
}

}  // namespace

std::vector<Property> kafka_payload_properties(const KafkaPayloadConformance& conformance) {
  const auto property = properties_of(conformance);
  return {
      property("DescribesColumns", check_columns),
      property("DecodesValuesTogetherAsAlone", check_together),
      property("DecodesWhatIsRequested", check_requests),
      property("ReportsBadValues", check_bad),
  };
}

bool register_kafka_payload_conformance(const std::string& suite,
                                        const KafkaPayloadConformance& conformance,
                                        std::source_location place) {
  return register_properties(suite, kafka_payload_properties(conformance), place);
}

}  // namespace millrace
