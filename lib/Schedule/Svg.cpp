//===- Svg.cpp - elements of SVG pictures ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Text is escaped; attributes come from code and are taken as they are.
//
//===----------------------------------------------------------------------===//
#include "pp/Schedule/Svg.h"

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
