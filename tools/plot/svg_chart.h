// Line charts as SVG.
#ifndef MILLRACE_TOOLS_PLOT_SVG_CHART_H_
#define MILLRACE_TOOLS_PLOT_SVG_CHART_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace millrace {

// A line of a chart.
struct ChartLine {
  std::string name;
  std::vector<std::pair<double, double>> points;  // (x, y), finite, x ascending
};

// Axes with lines. Both axes begin at 0.
struct Chart {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<ChartLine> lines;
};

// Returns an SVG document of width 760, with the charts below each other. Each chart has axes with
// round ticks, a grid and a legend. Texts are escaped. Equal charts give equal bytes.
std::string svg_of(absl::Span<const Chart> charts);

// Returns at most seven round numbers from 0 to at least `most`: multiples of 1, 2 or 5 times a
// power of ten. REQUIRES: most is finite and at least 0; 0 gives the ticks of 1.
std::vector<double> round_ticks(double most);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_PLOT_SVG_CHART_H_
