// With sanitizers GCC 12 takes the inside of std::regex for uninitialized (GCC bug 105562).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include "gnuplot.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <stdexcept>
#include <vector>

#include "palette.hpp"
#include "text.hpp"

extern char** environ;

namespace plsh::cli::report {
namespace {

/// A folder of our own that goes away with its content.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "plsh-report-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
      throw std::runtime_error(fmt::format("cannot create a temporary folder like {}: {}", pattern,
                                           std::strerror(errno)));
    path_ = pattern;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(std::string_view name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// gnuplot echoes the command, points at the place and ends with the message.
std::string last_line(std::string text) {
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return "no message";
  text.erase(end + 1);
  const std::size_t newline = text.rfind('\n');
  return newline == std::string::npos ? text : text.substr(newline + 1);
}

/// Starts gnuplot without a shell and waits for it. Its output, the figure, goes to `picture` and
/// what it says to `log`. \returns its wait status.
int run_gnuplot(const std::string& script, const std::string& picture, const std::string& log) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  constexpr int fresh = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, picture.c_str(), fresh, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(), fresh, 0600);
  // -d: the figures must not depend on the user's own gnuplot settings.
  std::string program = "gnuplot";
  std::string defaults = "-d";
  std::string path = script;
  std::vector<char*> arguments{program.data(), defaults.data(), path.data(), nullptr};
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    throw std::runtime_error(
        fmt::format("cannot draw the figures: gnuplot could not be started ({}); install gnuplot "
                    "or gnuplot-nox",
                    std::strerror(error)));
  int status = 0;
  while (waitpid(child, &status, 0) == -1)
    if (errno != EINTR)
      throw std::runtime_error(fmt::format("cannot wait for gnuplot: {}", std::strerror(errno)));
  return status;
}

/// gnuplot's colour (a literal) -> the style sheet's (a variable).
std::string themed(std::string svg) {
  for (const Colour& colour : all_colours) {
    const auto part = [&](std::size_t at) {
      return std::stoi(std::string(colour.light.substr(at, 2)), nullptr, 16);
    };
    const std::string replacement = fmt::format("var({})", colour.variable);
    const int red = part(1), green = part(3), blue_part = part(5);
    for (const std::string& literal : {fmt::format("rgb({:3},{:4},{:4})", red, green, blue_part),
                                       fmt::format("rgb({},{},{})", red, green, blue_part)})
      for (std::size_t at = svg.find(literal); at != std::string::npos; at = svg.find(literal, at))
        svg.replace(at, literal.size(), replacement);
  }
  return svg;
}

/// Only the drawing, cleaned: no document header, no tooltips such as "gnuplot_plot_1", no empty
/// groups, ids that do not clash with those of other figures.
std::string inlined(const std::string& name, const std::string& description, int width, int height,
                    const std::string& svg) {
  const std::size_t canvas = svg.find("<g id=\"gnuplot_canvas\">");
  const std::size_t end = svg.rfind("</svg>");
  if (canvas == std::string::npos || end == std::string::npos)
    throw std::runtime_error("gnuplot drew no SVG; is its svg terminal installed?");
  std::string body = svg.substr(canvas, end - canvas);
  // Regular expressions over a text of bounded size: every figure here is below 100 kB.
  static const std::regex title("<title>[^<]*</title>");
  static const std::regex empty_group("<g [^>]*>\\s*</g>\\s*");
  // Discs that gnuplot erases under the middle of an error bar, which would hide short bars.
  static const std::regex erased("<use [^>]*color=['\"]white['\"]/>");
  static const std::regex filter("<filter [^>]*>[\\s\\S]*?</filter>\\s*");
  static const std::regex id("(id=['\"]|href=['\"]#)");
  body = std::regex_replace(body, title, "");
  body = std::regex_replace(body, filter, "");
  body = std::regex_replace(body, erased, "");
  for (int pass = 0; pass < 2; ++pass) body = std::regex_replace(body, empty_group, "");
  body = std::regex_replace(body, id, "$1" + name + "-");
  return fmt::format(
      "<svg class=\"chart\" role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {} {}\" "
      "style=\"--native:{}px\" xmlns=\"http://www.w3.org/2000/svg\" "
      "xmlns:xlink=\"http://www.w3.org/1999/xlink\">\n{}</svg>\n",
      escape(description), width, height, width, themed(body));
}

}  // namespace

std::string plot_string(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'')
      result += "\u2019";
    else
      result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return result + "'";
}

std::string tick_string(std::string_view text) {
  std::string doubled;
  for (const char c : text) doubled += c == '%' ? "%%" : std::string(1, c);
  return plot_string(doubled);
}

std::string gnuplot_svg(const std::string& name, const std::string& description, int width,
                        int height, const std::string& script) {
  const TemporaryFolder folder;
  const std::string picture = folder.file("figure.svg");
  {
    std::ofstream file(folder.file("figure.gp"), std::ios::binary);
    file << "set encoding utf8\n"
         << fmt::format("set terminal svg size {},{} dynamic noenhanced font 'sans-serif,14'\n",
                        width, height)
         << script;
    if (!file.flush()) throw std::runtime_error("cannot write " + folder.file("figure.gp"));
  }
  const int status = run_gnuplot(folder.file("figure.gp"), picture, folder.file("log"));
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw std::runtime_error(fmt::format("gnuplot failed to draw the figure \"{}\": {}", name,
                                         last_line(read_file(folder.file("log")))));
  return inlined(name, description, width, height, read_file(picture));
}

}  // namespace plsh::cli::report
