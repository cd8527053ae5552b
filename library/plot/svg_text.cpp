#include "weft/library/plot/svg_text.h"

#include <fmt/format.h>

#include <cmath>

#include "weft/library/io/png.h"

namespace weft::detail {
namespace {

/// How many bytes the character that begins here has; 0 where it is none.
std::size_t length_of_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(text[i])); };
  const unsigned first = byte(0);
  const std::size_t n = first < 0x80                    ? 1
                        : first >= 0xc2 && first < 0xe0 ? 2
                        : first >= 0xe0 && first < 0xf0 ? 3
                        : first >= 0xf0 && first < 0xf5 ? 4
                                                        : 0;
  if (n == 0 || n > text.size()) return 0;
  unsigned code = n == 1 ? first : first & (0x7fu >> n);
  for (std::size_t i = 1; i < n; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool is_shortest = n == 1 || code >= (n == 2 ? 0x80u : n == 3 ? 0x800u : 0x10000u);
  const bool is_character = code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) && code != 0xfffe && code != 0xffff;
  const bool is_control = code < 0x20 && code != '\t' && code != '\n';
  return is_shortest && is_character && !is_control && code != 0x7f ? n : 0;
}

std::string base64(std::string_view bytes) {
  static constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t v = 0;
    for (std::size_t k = 0; k < 3; ++k) v = v << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) out += i + k > bytes.size() ? '=' : digits[v >> (18 - 6 * k) & 63];
  }
  return out;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t n = length_of_character(text.substr(at));
    if (n == 0) {
      out += "\xef\xbf\xbd";
      ++at;
      continue;
    }
    switch (text[at]) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += text.substr(at, n);
    }
    at += n;
  }
  return out;
}

double text_width(std::string_view text, double size) {
  double em = 0;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xc0) == 0x80) continue;  // within a character
    em += std::string_view("iljtfI.,:;|!'()[] ").find(c) != std::string_view::npos ? 0.33
          : std::string_view("mwMW@%").find(c) != std::string_view::npos           ? 0.92
          : c >= 'A' && c <= 'Z'                                                   ? 0.71
                                                                                   : 0.61;
  }
  return em * size;
}

std::string coordinate(double v) {
  std::string s = fmt::format("{:.2f}", v);
  while (s.back() == '0') s.pop_back();
  if (s.back() == '.') s.pop_back();
  return s == "-0" ? "0" : s;
}

void SvgWriter::text(double x, double y, std::string_view words, double size, Anchor anchor, std::string_view attributes) {
  static constexpr const char* names[] = {"start", "middle", "end"};
  text_ += fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\" text-anchor=\"{}\"{}{}>{}</text>\n", coordinate(x), coordinate(y),
                       coordinate(size), names[static_cast<int>(anchor)], attributes.empty() ? "" : " ", attributes, escaped(words));
}
void SvgWriter::line(double x0, double y0, double x1, double y1, std::string_view attributes) {
  text_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" {}/>\n", coordinate(x0), coordinate(y0), coordinate(x1),
                       coordinate(y1), attributes);
}
void SvgWriter::rect(double x, double y, double width, double height, std::string_view attributes) {
  text_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" {}/>\n", coordinate(x), coordinate(y), coordinate(width),
                       coordinate(height), attributes);
}
void SvgWriter::image(double x, double y, double width, double height, const Array& pixels) {
  text_ += fmt::format(
      "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" "
      "href=\"data:image/png;base64,{}\"/>\n",
      coordinate(x), coordinate(y), coordinate(width), coordinate(height), base64(encode_png(pixels, "Plot", {})));
}

std::string svg_document(double width, double height, Theme theme, std::string_view title, std::string_view contents) {
  constexpr std::string_view light = ".weft-plot{color:#24303c;--back:#fff}", dark = ".weft-plot{color:#d5dce4;--back:#11161c}";
  std::string style;
  switch (theme) {
    case Theme::automatic: style = fmt::format("{}@media(prefers-color-scheme:dark){{{}}}", light, dark); break;
    case Theme::light: style = light; break;
    case Theme::dark: style = dark; break;
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"weft-plot\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" "
      "font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" fill=\"currentColor\">\n{2}<style>{3}"
      ".weft-plot .back{{fill:var(--back)}}</style>\n{4}</svg>\n",
      coordinate(width), coordinate(height), title.empty() ? "" : fmt::format("<title>{}</title>\n", escaped(title)), style, contents);
}

}  // namespace weft::detail
