//===- Svg.cpp - elements of SVG pictures ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Text is escaped; attributes come from code and are taken as they are.
//
//===----------------------------------------------------------------------===//
#include "pp/Schedule/Svg.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace pp::schedule;

std::string svg::coordinate(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f", value);
  return text;
}

std::string svg::rectangle(double x, double y, double width, double height,
                           const char *fill, const std::string &content) {
  return "<rect x=\"" + coordinate(x) + "\" y=\"" + coordinate(y) +
         "\" width=\"" + coordinate(width) + "\" height=\"" +
         coordinate(height) + "\" fill=\"" + fill +
         (content.empty() ? "\"/>\n" : "\">" + content + "</rect>\n");
}

std::string svg::line(double x1, double y1, double x2, double y2,
                      const char *stroke, const char *more) {
  return "<line x1=\"" + coordinate(x1) + "\" y1=\"" + coordinate(y1) +
         "\" x2=\"" + coordinate(x2) + "\" y2=\"" + coordinate(y2) +
         "\" stroke=\"" + stroke + "\"" + more + "/>\n";
}

double svg::roundInterval(double width, double count) {
  const double rough = width / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double step : {5., 2.})
    if (step * power <= rough)
      return step * power;
  return power;
}

std::string svg::printTick(double value, double interval) {
  const int digits = std::max(0, int(-std::floor(std::log10(interval))));
  const double largest = std::max(std::fabs(value), interval);
  char text[64];
  if (digits > 6 || largest >= 1e7)
    std::snprintf(text, sizeof(text), "%.3g", value);
  else
    std::snprintf(text, sizeof(text), "%.*f", digits,
                  std::fabs(value) < interval / 2 ? 0 : value);
  return text;
}

std::string svg::escape(const std::string &text) {
  std::string escaped;
  for (char c : text) {
    if (c == '<')
      escaped += "&lt;";
    else if (c == '&')
      escaped += "&amp;";
    else if (static_cast<unsigned char>(c) >= ' ')
      escaped += c;
  }
  return escaped;
}

std::string svg::label(double x, double y, const char *anchor, const char *fill,
                       const std::string &content) {
  return "<text x=\"" + coordinate(x) + "\" y=\"" + coordinate(y) +
         "\" text-anchor=\"" + anchor + "\" fill=\"" + fill + "\">" +
         escape(content) + "</text>\n";
}

std::string svg::begin(double width, double height) {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" +
         coordinate(width) + "\" height=\"" + coordinate(height) +
         "\" viewBox=\"0 0 " + coordinate(width) + " " + coordinate(height) +
         "\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"11\">\n" +
         rectangle(0, 0, width, height, "#ffffff", "");
}
