//===- Plot.cpp - the loss of a run as SVG --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The axis of values shows the smoothed loss, and nearly all of the raw one: a
// few steps far off do not flatten the rest.
//
//===----------------------------------------------------------------------===//
#include "Plot.h"
#include "pp/Schedule/Svg.h"
#include "pprt/Files.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace pp::run;
using namespace pprt;
using namespace pprt::host;
namespace svg = pp::schedule::svg;

/// Between two drawings of a run under way.
static constexpr std::chrono::seconds kInterval(60);

namespace {

/// Radius of a mark.
constexpr double kMark = 3;
constexpr double kLeft = 70, kTop = 58, kWidth = 780, kHeight = 320,
                 kRight = 24, kFoot = 50;
constexpr const char *kInk = "#333333", *kFaint = "#777777", *kGrid = "#e4e4e4",
                     *kRaw = "#9ecae9", *kSmooth = "#1f5f99",
                     *kEval = "#b3001b";
constexpr size_t kLongestKeys = 130;
/// Share of the raw values at either end that need not be seen.
constexpr double kUnseen = 0.02;

struct Range {
  double least, most;
};

class Drawing {
public:
  Drawing(const Curve &loss, const Curve &eval)
      : loss(loss), eval(eval), smoothed(loss.smooth()) {
    findRanges();
  }

  std::string draw(const PlotTitle &title) const {
    std::string text =
        svg::begin(kLeft + kWidth + kRight, kTop + kHeight + kFoot) +
        drawTitle(title);
    if (loss.parts().empty())
      return text +
             svg::label(kLeft + kWidth / 2, kTop + kHeight / 2, "middle",
                        kFaint, "no step with a finite loss") +
             "</svg>\n";
    return text + drawGrid() + "<clipPath id=\"plot\">" +
           // Marks at the ends are whole.
           svg::rectangle(kLeft - kMark, kTop - kMark, kWidth + 2 * kMark,
                          kHeight + 2 * kMark, kInk) +
           "</clipPath>\n<g clip-path=\"url(#plot)\" fill=\"none\" "
           "stroke-linejoin=\"round\">\n" +
           drawRaw() + drawSmoothed() + drawEval() + "</g>\n" + drawLegend() +
           "</svg>\n";
  }

private:
  void findRanges() {
    const std::vector<Curve::Part> &parts = loss.parts();
    if (parts.empty())
      return;
    steps = {parts.front().step(), parts.back().step()};
    if (steps.most <= steps.least)
      steps.most = steps.least + 1;
    std::vector<double> least, most;
    for (const Curve::Part &part : parts) {
      least.push_back(part.least);
      most.push_back(part.most);
    }
    std::sort(least.begin(), least.end());
    std::sort(most.begin(), most.end());
    const auto unseen = size_t(double(parts.size()) * kUnseen);
    values = {std::min(least[unseen],
                       *std::min_element(smoothed.begin(), smoothed.end())),
              std::max(most[parts.size() - 1 - unseen],
                       *std::max_element(smoothed.begin(), smoothed.end()))};
    for (const Curve::Part &part : eval.parts())
      values = {std::min(values.least, part.least),
                std::max(values.most, part.most)};
    double margin = 0.05 * (values.most - values.least);
    // No difference but that of rounding.
    const double size =
        std::max(std::fabs(values.least), std::fabs(values.most));
    margin = std::max({margin, 1e-3 * size, 1e-12});
    values = {values.least - margin, values.most + margin};
  }

  double x(double step) const {
    return kLeft + kWidth * (step - steps.least) / (steps.most - steps.least);
  }
  /// Bounded, as a picture's numbers must be.
  double y(double value) const {
    const double share = (value - values.least) / (values.most - values.least);
    return kTop + kHeight * (1 - std::clamp(share, -1., 2.));
  }

  static std::string line(double x1, double y1, double x2, double y2,
                          const char *stroke, double width = 1) {
    return "<line x1=\"" + svg::coordinate(x1) + "\" y1=\"" +
           svg::coordinate(y1) + "\" x2=\"" + svg::coordinate(x2) + "\" y2=\"" +
           svg::coordinate(y2) + "\" stroke=\"" + stroke +
           "\" stroke-width=\"" + svg::coordinate(width) + "\"/>\n";
  }
  std::string point(double step, double value) const {
    return svg::coordinate(x(step)) + "," + svg::coordinate(y(value)) + " ";
  }

  static std::string drawTitle(const PlotTitle &title) {
    std::string keys = title.keys;
    if (keys.size() > kLongestKeys)
      keys = keys.substr(0, kLongestKeys - 3) + "...";
    return "<g font-size=\"14\" font-weight=\"bold\">" +
           svg::label(kLeft, 24, "start", kInk, "loss of " + title.model) +
           "</g>\n" + svg::label(kLeft, 42, "start", kFaint, keys);
  }

  std::string drawGrid() const {
    std::string text;
    const double up = svg::roundInterval(values.most - values.least, 4);
    for (double i = std::ceil(values.least / up); i * up <= values.most; ++i) {
      text += line(kLeft, y(i * up), kLeft + kWidth, y(i * up), kGrid);
      text += svg::label(kLeft - 8, y(i * up) + 4, "end", kFaint,
                         svg::printTick(i * up, up));
    }
    // Steps are whole.
    const double right =
        std::max(1., svg::roundInterval(steps.most - steps.least, 5));
    for (double i = std::ceil(steps.least / right); i * right <= steps.most;
         ++i) {
      const double at = x(i * right);
      text += line(at, kTop + kHeight, at, kTop + kHeight + 4, kFaint);
      text += svg::label(at, kTop + kHeight + 18, "middle", kFaint,
                         svg::printTick(i * right, right));
    }
    return text +
           line(kLeft, kTop + kHeight, kLeft + kWidth, kTop + kHeight, kFaint) +
           svg::label(kLeft + kWidth, kTop + kHeight + 38, "end", kFaint,
                      "step");
  }

  /// A line, or the band between the least and the most of several steps.
  std::string drawRaw() const {
    std::string above, below;
    const std::vector<Curve::Part> &parts = loss.parts();
    for (const Curve::Part &part : parts)
      above += point(part.step(), part.most);
    for (auto part = parts.rbegin(); part != parts.rend(); ++part)
      below += point(part->step(), part->least);
    return std::string("<polygon points=\"") + above + below + "\" fill=\"" +
           kRaw + "\" stroke=\"" + kRaw +
           "\" stroke-width=\"1\" opacity=\"0.7\"/>\n";
  }

  std::string mark(double step, double value, const char *fill) const {
    return "<circle cx=\"" + svg::coordinate(x(step)) + "\" cy=\"" +
           svg::coordinate(y(value)) + "\" r=\"" + svg::coordinate(kMark) +
           "\" fill=\"" + fill + "\"/>\n";
  }

  std::string drawSmoothed() const {
    if (smoothed.size() == 1) // a line of one point is none
      return mark(steps.least, smoothed.front(), kSmooth);
    std::string points;
    for (size_t i = 0; i < smoothed.size(); ++i)
      points += point(loss.parts()[i].step(), smoothed[i]);
    return "<polyline points=\"" + points + "\" stroke=\"" + kSmooth +
           "\" stroke-width=\"2\"/>\n";
  }

  std::string drawEval() const {
    std::string points, marks;
    for (const Curve::Part &part : eval.parts()) {
      points += point(part.step(), part.mean());
      marks += mark(part.step(), part.mean(), kEval);
    }
    return points.empty() ? ""
                          : "<polyline points=\"" + points + "\" stroke=\"" +
                                kEval + "\" stroke-width=\"1\"/>\n" + marks;
  }

  std::string drawLegend() const {
    std::string text;
    double right = kLeft + kWidth;
    const auto add = [&](const char *colour, double width,
                         const std::string &label) {
      text += svg::label(right, 24, "end", kInk, label);
      right -= 6.2 * double(label.size()) + 24;
      text += line(right, 20, right + 18, 20, colour, width);
      right -= 18;
    };
    const auto say = [](const char *name, double value) {
      char number[64];
      std::snprintf(number, sizeof(number), "%s, %.4g at the end", name, value);
      return std::string(number);
    };
    if (!eval.parts().empty())
      add(kEval, 1, say("eval", eval.parts().back().mean()));
    add(kSmooth, 2, say("smoothed", smoothed.back()));
    add(kRaw, 2, "each step");
    return text;
  }

  const Curve &loss, &eval;
  const std::vector<double> smoothed;
  Range steps = {0, 1}, values = {0, 1};
};

} // namespace

std::string pp::run::drawLoss(const Curve &loss, const Curve &eval,
                              const PlotTitle &title) {
  return Drawing(loss, eval).draw(title);
}

Status PlotFile::add(const StepReport &step) {
  loss.add(step.step, step.loss);
  if (step.evaluation)
    eval.add(step.step, step.evaluation->loss);
  const auto now = std::chrono::steady_clock::now();
  if (now - drawn < kInterval || writing.isBusy())
    return {};
  drawn = now;
  const Status before = writing.finish();
  writing.start([text = drawLoss(loss, eval, title), its = path] {
    return writeFile(its, text.data(), text.size());
  });
  return before;
}

Status PlotFile::finish() {
  (void)writing.finish(); // is written once more
  const std::string text = drawLoss(loss, eval, title);
  return writeFile(path, text.data(), text.size());
}
