#include "tools/plot/svg_chart.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace millrace {
namespace {

constexpr double kWidth = 760, kHeight = 340;
constexpr double kLeft = 80, kRight = 180, kTop = 40, kBottom = 50;
// The colors of Okabe and Ito, distinguishable with any color vision.
constexpr const char* kColors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                   "#e69f00", "#56b4e9", "#000000"};

std::string escaped(absl::string_view text) {
  return absl::StrReplaceAll(text,
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string text_at(double x, double y, absl::string_view anchor, absl::string_view text) {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor,
                         escaped(text));
}

std::string line_between(double x1, double y1, double x2, double y2, absl::string_view color) {
  return absl::StrFormat("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n",
                         x1, y1, x2, y2, color);
}

// Draws a chart with its upper left corner at (0, top).
class ChartDrawing {
 public:
  ChartDrawing(const Chart& chart, double top) : chart_(chart), top_(top) {
    double most_x = 0, most_y = 0;
    for (const ChartLine& line : chart.lines) {
      for (const auto& [x, y] : line.points) {
        most_x = std::max(most_x, x);
        most_y = std::max(most_y, y);
      }
    }
    x_ticks_ = round_ticks(most_x);
    y_ticks_ = round_ticks(most_y);
    x_range_ = most_x > 0 ? most_x : x_ticks_.back();
  }

  std::string draw() const {
    std::string svg = text_at(kLeft, top_ + 22, "start", chart_.title);
    draw_axes(&svg);
    for (size_t i = 0; i < chart_.lines.size(); ++i) draw_line(i, &svg);
    return svg;
  }

 private:
  double at_x(double x) const { return kLeft + x / x_range_ * (kWidth - kLeft - kRight); }
  double at_y(double y) const {
    return top_ + kHeight - kBottom - y / y_ticks_.back() * (kHeight - kTop - kBottom);
  }

  void draw_axes(std::string* svg) const {
    for (const double tick : y_ticks_) {
      absl::StrAppend(svg, line_between(kLeft, at_y(tick), kWidth - kRight, at_y(tick), "#ddd"),
                      text_at(kLeft - 8, at_y(tick) + 4, "end", absl::StrCat(tick)));
    }
    for (const double tick : x_ticks_) {
      if (tick > x_range_) continue;
      absl::StrAppend(svg, line_between(at_x(tick), at_y(0), at_x(tick), at_y(0) + 5, "#444"),
                      text_at(at_x(tick), at_y(0) + 20, "middle", absl::StrCat(tick)));
    }
    absl::StrAppend(svg, line_between(kLeft, at_y(0), kWidth - kRight, at_y(0), "#444"),
                    line_between(kLeft, at_y(0), kLeft, at_y(y_ticks_.back()), "#444"),
                    text_at((kLeft + kWidth - kRight) / 2, at_y(0) + 40, "middle", chart_.x_label),
                    text_at(kLeft - 8, top_ + kTop - 12 + 4, "end", chart_.y_label));
  }

  void draw_line(size_t index, std::string* svg) const {
    const ChartLine& line = chart_.lines[index];
    const char* color = kColors[index % std::size(kColors)];
    std::string points;
    for (const auto& [x, y] : line.points) {
      absl::StrAppendFormat(&points, "%.1f,%.1f ", at_x(x), at_y(y));
    }
    absl::StrAppendFormat(
        svg, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"%s\"/>\n", color,
        points);
    const double y = top_ + kTop + 20 * static_cast<double>(index) + 8;
    const double x = kWidth - kRight + 12;
    absl::StrAppend(svg, line_between(x, y, x + 20, y, color),
                    text_at(x + 26, y + 4, "start", line.name));
  }

  const Chart& chart_;
  const double top_;
  std::vector<double> x_ticks_, y_ticks_;
  double x_range_ = 1;
};

}  // namespace

std::vector<double> round_ticks(double most) {
  if (most <= 0) most = 1;
  const double power = std::pow(10.0, std::floor(std::log10(most)));
  double step = power;
  for (const double factor : {0.1, 0.2, 0.5, 1.0, 2.0}) {
    step = factor * power;
    if (most / step <= 6 + 1e-9) break;
  }
  std::vector<double> ticks;
  // Multiples of a power of ten are rounded to their digits.
  for (int64_t i = 0; ticks.empty() || ticks.back() < most * (1 - 1e-12); ++i) {
    ticks.push_back(std::stod(absl::StrFormat("%.12g", static_cast<double>(i) * step)));
  }
  return ticks;
}

std::string svg_of(absl::Span<const Chart> charts) {
  const double height = kHeight * static_cast<double>(charts.size());
  std::string svg = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
      "height=\"%.0f\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<desc>Millrace</desc>\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
      kWidth, height, kWidth, height);
  for (size_t i = 0; i < charts.size(); ++i) {
    absl::StrAppend(&svg, ChartDrawing(charts[i], kHeight * static_cast<double>(i)).draw());
  }
  return svg + "</svg>\n";
}

}  // namespace millrace
